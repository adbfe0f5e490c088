import FramemillEngine
import Testing

@Suite struct MetersTests {
    @Test func losesNoCount() async {
        let meters = Meters()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { for _ in 0..<100 { meters.add("a") } } }
        }
        meters.add("b", 5)
        #expect(meters.all == ["a": 5000, "b": 5])
        #expect(meters.count("none") == 0)
    }
}
