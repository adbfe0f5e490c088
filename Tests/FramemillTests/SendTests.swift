import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

private func makeSender(_ networks: [String] = ["127.0.0.1/32"]) throws -> Sender {
    var configuration = Configuration()
    configuration.allowNet = networks
    return try Sender(configuration)
}

private var soon: Stop { Stop(after: .seconds(20)) }

@Suite struct WebhookTests {
    private static let secret = "whsec_" + Base64.text(Array("a key of twenty-four bytes".utf8))

    private struct Posted: Decodable {
        var line: String
        var headers: [String: String]
        var body: String

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            line = try list.decode(String.self)
            headers = try list.decode([String: String].self)
            body = try list.decode(String.self)
        }
    }

    private func posted(_ server: FaultServer) throws -> [Posted] {
        try server.log.map { try JSONDecoder().decode(Posted.self, from: Data($0.utf8)) }
    }

    @Test func signsAsTheStandardSays() async throws {
        let server = try FaultServer()
        let hook = try Webhook(makeSender(), secret: Self.secret, now: { 1_700_000_000 })
        try await hook.post(
            Array(#"{"id":"7"}"#.utf8), id: "msg 7", to: server.url("/hook/204/a"), stop: soon)
        let one = try #require(try posted(server).first)
        #expect(one.line == "POST /hook/204/a HTTP/1.1")
        #expect(one.body == #"{"id":"7"}"#)
        #expect(one.headers["Content-Type"] == "application/json")
        #expect(one.headers["webhook-id"] == "msg 7")
        #expect(one.headers["webhook-timestamp"] == "1700000000")
        // Python's own HMAC, over what the specification names.
        let script = """
            import base64, hashlib, hmac
            code = hmac.new(b"a key of twenty-four bytes", b'msg 7.1700000000.{"id":"7"}', hashlib.sha256)
            print("v1," + base64.b64encode(code.digest()).decode(), end="")
            """
        let expected = String(decoding: try Tool.output("python3", ["-c", script]), as: UTF8.self)
        #expect(one.headers["webhook-signature"] == expected)
    }

    @Test func sendsUnsignedWithoutASecret() async throws {
        let server = try FaultServer()
        try await Webhook(makeSender(), secret: nil).post(
            [], id: "1", to: server.url("/hook/200/a"), stop: soon)
        #expect(try posted(server).first?.headers["webhook-signature"] == nil)
    }

    @Test(arguments: [(500, Failure.Class.transient), (429, .transient), (410, .permanent)])
    func saysWhatItWasAnswered(status: Int, kind: Failure.Class) async throws {
        let server = try FaultServer()
        let hook = try Webhook(makeSender(), secret: nil)
        let failure = await #expect(throws: Failure.self) {
            try await hook.post([1], id: "1", to: server.url("/hook/\(status)/a?token=x"), stop: soon)
        }
        #expect(failure?.reason == .http(status))
        #expect(failure?.reason.class == kind)
        #expect(failure?.retryAfterSeconds == 7)
        #expect(failure?.message.contains("token") == false)
    }

    /// A redirect would lead to an address that nobody agreed on.
    @Test func followsNoRedirect() async throws {
        let server = try FaultServer()
        let hook = try Webhook(makeSender(), secret: nil)
        let failure = await #expect(throws: Failure.self) {
            try await hook.post([1], id: "1", to: server.url("/hook/302/a"), stop: soon)
        }
        #expect(failure?.reason == .badResponse)
        #expect(server.log.count == 1)
    }

    @Test(arguments: ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"])
    func dialsNoPrivateAddress(host: String) async throws {
        let server = try FaultServer()
        let hook = try Webhook(makeSender([]), secret: nil)
        let failure = await #expect(throws: Failure.self) {
            try await hook.post([1], id: "1", to: "http://\(host):\(server.port)/hook/200/a", stop: soon)
        }
        #expect(failure?.reason == .blockedAddress)
        #expect(server.log.isEmpty)
    }

    @Test(arguments: ["file:///etc/passwd", "/etc/passwd", "ftp://example.org/"])
    func refusesWhatIsNoWebAddress(url: String) async throws {
        let hook = try Webhook(makeSender(), secret: nil)
        let failure = await #expect(throws: Failure.self) {
            try await hook.post([1], id: "1", to: url, stop: soon)
        }
        #expect(failure?.reason == .badURL)
    }

    @Test(arguments: ["", "secret", "whsec_", "whsec_c2hvcnQ=", "whsec_****"])
    func refusesASecretThatIsNone(secret: String) {
        #expect(throws: Failure.self) { try Webhook(makeSender(), secret: secret) }
    }

    @Test func isOverWithItsStop() async throws {
        let server = try FaultServer()
        let hook = try Webhook(makeSender(), secret: nil)
        let stop = Stop()
        stop.raise()
        let failure = await #expect(throws: Failure.self) {
            try await hook.post([1], id: "1", to: server.url("/hook/200/a"), stop: stop)
        }
        #expect(failure?.reason == .cancelled)
        #expect(server.log.isEmpty)
    }
}

@Suite(.enabled(if: ObjectServer.isInstalled, "SKIPPED: rclone is not installed, so no S3 server"))
struct ObjectStoreTests {
    private let server: ObjectServer
    private let credentials = [
        "AWS_ACCESS_KEY_ID": ObjectServer.keyID, "AWS_SECRET_ACCESS_KEY": ObjectServer.secret,
    ]

    init() throws { server = try ObjectServer(bucket: "covers") }

    private func store(_ place: String, _ environment: [String: String]) throws -> ObjectStore {
        let mark = place.contains("?") ? "&" : "?"
        let address = try ObjectStore.Address("\(place)\(mark)endpoint=\(server.endpoint)", environment: [:])
        // The guard has no word in what the operator named.
        return try ObjectStore(address, sender: makeSender([]), environment: environment)
    }

    @Test(arguments: ["a.jpg", "ab/cd/abcd.webp", "with space+plus&and=eq?.jpg", "Größe/日本.png"])
    func storesAnObjectWhole(name: String) async throws {
        let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        let store = try store("s3://covers/some/prefix", credentials)
        #expect(try await store.byteCount(of: name, stop: soon) == nil)
        try await store.put(
            bytes, as: name, type: "image/jpeg", metadata: ["key": "abc", "width": "320"], stop: soon)
        #expect(try server.folder.read("covers/some/prefix/\(name)") == bytes)
        #expect(try await store.byteCount(of: name, stop: soon) == 70_000)
        try await store.put([1, 2, 3], as: name, type: "image/jpeg", stop: soon)
        #expect(try server.folder.read("covers/some/prefix/\(name)") == [1, 2, 3])
    }

    @Test func storesAnEmptyObject() async throws {
        try await store("s3://covers", credentials).put([], as: "empty", type: "text/plain", stop: soon)
        #expect(try server.folder.read("covers/empty") == [])
    }

    @Test func saysWhyItWasRefused() async throws {
        var wrong = credentials
        wrong["AWS_SECRET_ACCESS_KEY"] = "another"
        for environment in [wrong, [:]] {
            let store = try store("s3://covers/", environment)
            let failure = await #expect(throws: Failure.self) {
                try await store.put([1], as: "a.jpg", type: "image/jpeg", stop: soon)
            }
            #expect(failure?.reason == .writeFailed)
            #expect(failure?.message.contains("answered 40") == true, "\(failure?.message ?? "")")
            #expect(failure?.description.contains(ObjectServer.secret) == false)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.file("covers")).isEmpty)
    }

    @Test func namesABucketThatIsNotThere() async throws {
        let store = try store("s3://nothing/", credentials)
        let failure = await #expect(throws: Failure.self) {
            try await store.put([1], as: "a.jpg", type: "image/jpeg", stop: soon)
        }
        #expect(failure?.reason == .writeFailed)
        #expect(failure?.message.contains("s3://nothing/a.jpg") == true)
        #expect(failure?.cause?.contains("NoSuchBucket") == true, "\(failure?.description ?? "")")
    }

    @Test func aStoreThatIsAwayFailsTheWrite() async throws {
        let address = try ObjectStore.Address(
            "s3://covers/?endpoint=http://127.0.0.1:9", environment: [:])
        let store = try ObjectStore(address, sender: makeSender(), environment: credentials)
        let failure = await #expect(throws: Failure.self) {
            try await store.put([1], as: "a.jpg", type: "image/jpeg", stop: soon)
        }
        #expect(failure?.reason == .writeFailed)
        #expect(failure?.reason.class == .transient)
    }
}

@Suite struct ObjectAddressTests {
    private func address(_ text: String, _ environment: [String: String] = [:]) throws -> ObjectStore.Address
    {
        try ObjectStore.Address(text, environment: environment)
    }

    @Test func readsEveryPart() throws {
        let plain = try address("s3://covers")
        #expect(plain.url(of: "a/b.jpg") == "https://covers.s3.us-east-1.amazonaws.com/a/b.jpg")
        let own = try address(
            "s3://covers/a/b?endpoint=http://10.0.0.1:9000&region=eu-1", ["AWS_REGION": "x"])
        #expect(own.url(of: "é c.jpg") == "http://10.0.0.1:9000/covers/a/b/%C3%A9%20c.jpg")
        #expect(own.region == "eu-1")
        let virtual = try address("s3://covers?style=virtual", ["AWS_ENDPOINT_URL": "https://s3.example.org"])
        #expect(virtual.url(of: "a") == "https://covers.s3.example.org/a")
    }

    @Test(
        arguments: [
            "covers", "s3://", "s3:///a", "s3://a b", "s3://a?endpoint=ftp://x", "s3://a?endpoint=http://x/y",
            "s3://a?style=other", "s3://a?colour=red", "s3://a?region=a/b",
        ])
    func refusesWhatIsNone(text: String) {
        let failure = #expect(throws: Failure.self) { try address(text) }
        #expect(failure?.reason == .badOption)
    }

    @Test func refusesHalfAPair() throws {
        #expect(throws: Failure.self) {
            try ObjectStore(
                try address("s3://a"), sender: makeSender(), environment: ["AWS_ACCESS_KEY_ID": "x"])
        }
    }
}
