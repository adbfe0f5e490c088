import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct HostGuardTests {
    private func isAdmitted(_ url: String, denying hosts: [String] = [], ports: [ClosedRange<Int>] = [])
        throws -> Bool
    {
        let rules = try HostGuard(denying: hosts, ports: ports)
        guard case .http(let web) = try Location(url) else { return false }
        do throws(Failure) {
            try rules.admit(web)
            return true
        } catch {
            #expect(error.reason == .blockedAddress)
            return false
        }
    }

    @Test(arguments: [
        ("http://example.org/", false), ("http://EXAMPLE.org./a", false),
        ("https://a.b.example.org:444/", false),
        ("http://bücher.example/", false), ("http://xn--bcher-kva.example/", false),
        ("http://org/", true), ("http://notexample.org/", true),
        ("http://example.org.evil.test/", true),
    ])
    func deniesAHostAndAllBelowIt(_ url: String, _ wanted: Bool) throws {
        let denied = ["example.org", "Bücher.Example"]
        #expect(try isAdmitted(url, denying: denied) == wanted)
        #expect(try isAdmitted(url))
    }

    @Test(arguments: ["", "a b", "http://a", "a/b", "a:80", "u@a", "[::1"])
    func refusesWhatIsNoHost(_ text: String) {
        let failure = #expect(throws: Failure.self) { try HostGuard(denying: [text], ports: []) }
        #expect(failure?.reason == .badOption)
    }

    @Test func asksNoPortOfAnotherProtocolUnlessToldTo() throws {
        for port in [1, 22, 25, 6000, 10080] { #expect(try !isAdmitted("http://a:\(port)/")) }
        for port in [80, 443, 8080, 65535] { #expect(try isAdmitted("http://a:\(port)/")) }
        #expect(try isAdmitted("http://a:25/", ports: [25...25]))
    }

    @Test func asksNoPortButThoseGiven() throws {
        for (port, wanted) in [
            (80, true), (443, false), (7999, false), (8000, true), (8999, true), (9000, false),
        ] {
            #expect(try isAdmitted("http://a:\(port)/", ports: [80...80, 8000...8999]) == wanted)
        }
        for range in [0...1, 65535...65536] {
            #expect(throws: Failure.self) { try HostGuard(denying: [], ports: [range]) }
        }
    }

    /// By whatever spelling, and behind whatever name.
    @Test(arguments: ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]"])
    func dialsNoAddressThatIsDenied(_ host: String) async throws {
        let bench = try FetchBench {
            ($0.allowNet, $0.denyHosts) = (["127.0.0.0/8", "::1"], ["127.0.0.1", "[::1]"])
        }
        let failure = await bench.failure("http://\(host):\(bench.server.port)/ranges/1000/a.mp4")
        #expect(failure?.reason == .blockedAddress && failure?.message.contains("--deny-host") == true)
        #expect(bench.server.log.isEmpty)
    }

    @Test func judgesARedirectAndACallbackLikeAFirstAddress() async throws {
        let bench = try FetchBench { $0.denyHosts = ["localhost"] }
        for target in ["http://localhost:\(bench.server.port)/", "http://127.0.0.1:25/"] {
            #expect(await bench.failure("/to/0/?" + target)?.reason == .blockedAddress)
        }
        #expect(bench.server.log.count == 2)
        var configuration = Configuration()
        (configuration.allowNet, configuration.denyHosts) = (["127.0.0.1"], ["127.0.0.1"])
        let sender = try Sender(configuration)
        let failure = await #expect(throws: Failure.self) {
            _ = try await sender.send(
                Outgoing("POST", bench.server.url("/")), stop: Stop(after: .seconds(20)))
        }
        #expect(failure?.reason == .blockedAddress && bench.server.log.count == 2)
    }
}
