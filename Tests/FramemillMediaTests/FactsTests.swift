import Foundation
import FramemillMedia
import Testing

@Suite struct FactsTests {
    @Test(arguments: [
        (0, "0:00"), (0.999, "0:00"), (1, "0:01"), (59.99, "0:59"), (60, "1:00"), (61.5, "1:01"),
        (599, "9:59"),
        (3599.9, "59:59"), (3600, "1:00:00"), (3661, "1:01:01"), (36000, "10:00:00"), (-1, "0:00"),
        (Double.infinity, "277777:46:40"), (-Double.infinity, "0:00"), (Double.nan, "0:00"),
    ])
    func writesAClockAsPlayersDo(_ seconds: Double, _ text: String) {
        #expect(Facts.clock(seconds: seconds) == text)
    }

    @Test func comesBackFromJSONAsItWas() throws {
        var facts = Facts()
        facts.source = .attached
        facts.duration = 12.5
        facts.milliseconds = ["total": 3.25]
        facts.animation = Facts.Animation(frameCount: 3, plays: 0, duration: 0.25)
        facts.thumbHash = "1QcSHQRnh493V4dIh4eXh1h4kJUI"
        let data = try JSONEncoder().encode(facts)
        #expect(try JSONDecoder().decode(Facts.self, from: data) == facts)
    }

    @Test func leavesOutWhatTheSourceDoesNotSay() throws {
        let text = String(decoding: try JSONEncoder().encode(Facts()), as: UTF8.self)
        #expect(!text.contains("null"))
        #expect(!text.contains("duration"))
    }
}
