import Testing

@testable import FramemillQueue

@Suite struct RoomTests {
    private func room(
        hurried: Int = 0, others: Int = 0, late: Int = 0, started: Int = 0, jobs: Int? = nil
    ) -> [Int] {
        var options = Worker.Options(name: "tested")
        (options.slots, options.jobs) = (16, jobs)
        let room = Room(options, hurried: hurried, others: others, late: late, started: started)
        return [room.free, room.reserved]
    }

    @Test func hasAnEighthOnTopForThoseInAHurry() {
        #expect(room() == [18, 2])
        #expect(room(others: 15) == [3, 2])
        #expect(room(others: 16) == [2, 2])
        #expect(room(hurried: 18) == [0, 0])
        #expect(room(hurried: 17) == [1, 1])
    }

    @Test func givesOthersAQuarterWhileSomebodyWaits() {
        #expect(room(hurried: 1) == [17, 13])
        #expect(room(hurried: 1, others: 3) == [14, 13])
        #expect(room(hurried: 1, others: 4) == [13, 13])
        #expect(room(hurried: 1, others: 16) == [1, 1])
        #expect(room(hurried: 15) == [3, 2])
    }

    @Test func countsNoLateOnesUpToAsManyAgain() {
        #expect(room(late: 16) == [18, 2])
        #expect(room(late: 17) == [17, 2])
        #expect(room(late: 34) == [0, 0])
        #expect(room(others: 16, late: 18) == [0, 0])
    }

    @Test func startsNoMoreThanItWasTold() {
        #expect(room(started: 95, jobs: 100) == [5, 0])
        #expect(room(started: 100, jobs: 100) == [0, 0])
        #expect(room(others: 16, jobs: 100) == [0, 0])
    }
}
