import Framemill

/// What is known of one entry, for a line of its own.
struct CacheLine: Encodable {
    var key: String
    var kind: String
    var url: String
    var host: String
    var `class`: String
    var version: String
    var bytes: Int
    var storedAt: Int64
    var freshUntil: Int64?
    var etag: String?
    var lastModified: String?
    var code: String?
    var message: String?
    var attempts: Int?

    init(_ record: CacheRecord) {
        (key, url, host) = (record.key.hex, record.url, record.host)
        kind = record.kind == .picture ? "picture" : "failure"
        (self.class, version, bytes) = (record.engineClass, record.engineVersion, record.byteCount)
        storedAt = record.storedAt
        // For ever is no time.
        freshUntil = record.freshUntil == .max ? nil : record.freshUntil
        (etag, lastModified) = (record.etag, record.lastModified)
        (code, message, attempts) = (record.refusal?.code, record.refusal?.message, record.refusal?.attempts)
    }

    var text: String { "\(key) \(kind) \(code ?? "\(bytes) bytes") \(url.isEmpty ? "-" : url)" }
}
