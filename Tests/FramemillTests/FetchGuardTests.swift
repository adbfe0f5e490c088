import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct FetchGuardTests {
    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.0.1", "192.168.1.1",
        "198.18.0.1", "198.19.255.255", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:7f00:1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1",
        "fc00::1",
        "ff02::1", "2001::1", "2001:db8::1", "64:ff9b:1::1", "fec0::1",
    ])
    func refusesWhatIsNotPublic(_ text: String) throws {
        let address = try #require(AddressGuard.parse(text))
        #expect(try AddressGuard(allowing: []).allows(address) == false)
    }

    @Test(arguments: [
        "93.184.216.34", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:2800:220:1::1",
        "64:ff9b::5db8:d822",
        "2001:4860:4860::8888",
    ])
    func allowsPublicAddresses(_ text: String) throws {
        let address = try #require(AddressGuard.parse(text))
        #expect(try AddressGuard(allowing: []).allows(address))
    }

    @Test func allowsTheNetworksItWasGiven() throws {
        let some = try AddressGuard(allowing: ["10.0.0.0/8", "127.0.0.1", "fd00::/8"])
        for (text, isAllowed) in [
            ("10.9.8.7", true), ("127.0.0.1", true), ("127.0.0.2", false), ("11.0.0.1", true),
            ("fd12::1", true),
            ("fc12::1", false),
        ] {
            #expect(some.allows(try #require(AddressGuard.parse(text))) == isAllowed, "\(text)")
        }
    }

    @Test(arguments: ["localhost", "10.0.0.0/33", "::/129", "", "1.2.3.4/x", "1.2.3.4/8/8"])
    func refusesNetworksThatAreNone(_ text: String) {
        let failure = #expect(throws: Failure.self) { try AddressGuard(allowing: [text]) }
        #expect(failure?.reason == .badOption)
    }

    /// B18: the spellings, dialled for real. The listener is there and must log nothing.
    @Test(arguments: [
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]", "[fe80::1%25eth0]", "[fc00::1]", "[::]", "2130706433", "0x7f000001",
        "017700000001",
        "127.1", "0.0.0.0", "100.64.0.1", "198.18.0.1", "localhost", "localhost.", "LOCALHOST", "127.0.0.1",
    ])
    func dialsNoPrivateAddressHoweverItIsSpelled(_ host: String) async throws {
        let bench = try FetchBench { $0.allowNet = [] }
        let failure = await bench.failure("http://\(host):\(bench.server.port)/ranges/1000/a.mp4")
        #expect(failure?.reason == .blockedAddress, "\(host): \(String(describing: failure))")
        #expect(bench.server.log.isEmpty)
    }

    /// B17: each hop is judged like the first.
    @Test(arguments: [
        ("http://169.254.169.254/latest/", Failure.Reason.blockedAddress),
        ("http://[::1]:PORT/", .blockedAddress),
        ("file:///etc/passwd", .blockedAddress), ("ftp://example.com/a", .badResponse),
        ("http://a@b@c/", .badResponse), ("http://127.0.0.1:PORT%5C@example.com/", .badResponse),
    ])
    func judgesEveryRedirect(_ target: String, _ reason: Failure.Reason) async throws {
        let bench = try FetchBench()
        let place = target.replacing("PORT", with: "\(bench.server.port)")
        let failure = await bench.failure("/to/0/?" + place)
        #expect(failure?.reason == reason, "\(String(describing: failure))")
        #expect(bench.server.log.count == 1)
    }
}
