// Most URLs that are asked for again and again are in their canonical form already. To see that takes one look at each
// byte and no allocation; to read the URL into its parts and to put it together again takes forty times as long.

internal import FramemillMedia

extension Location {
    /// Whether `url` surely is its own canonical text, of an `http` or `https` address. Where it says no, the address
    /// may be canonical all the same, or none.
    static func isCanonical(_ url: String) -> Bool {
        // A string that is not Swift's own (none on this platform) has no storage to look at.
        unsafe url.utf8.withContiguousStorageIfAvailable { unsafe isCanonical(UnsafeRawBufferPointer($0)) }
            ?? false
    }

    private static func isCanonical(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let rest = bytes.count
        guard var at = unsafe scheme(bytes) else { return false }
        let (host, hostBytes) = (at, hostBytes)
        // Each `at` below is below `rest` where a byte is read.
        while at < rest, unsafe hostBytes.contains(bytes[at]) { at += 1 }
        // Without a path one is put there; what follows a host otherwise is a port, a user, or another script's letter.
        // A dot at its end may go.
        guard at > host, at - host <= 253, at < rest, unsafe bytes[at] == slash, unsafe bytes[at - 1] != dot
        else { return false }
        var allowed = pathBytes
        while at < rest {
            let byte = unsafe bytes[at]
            at += 1
            if allowed.contains(byte) { continue }
            switch byte {
            // A dot segment begins so, and so does a file that is hidden: rare enough.
            case slash: if at < rest, unsafe bytes[at] == dot { return false }
            case question: allowed = queryBytes
            case percent:
                guard at + 1 < rest, unsafe hexBytes.contains(bytes[at]),
                    unsafe hexBytes.contains(bytes[at + 1])
                else { return false }
                at += 2
            default: return false
            }
        }
        return true
    }

    /// Where the host begins.
    private static func scheme(_ bytes: UnsafeRawBufferPointer) -> Int? {
        // A constant lies still.
        for scheme: StaticString in ["https://", "http://"]
        where unsafe bytes.starts(
            with: UnsafeRawBufferPointer(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount))
        { return scheme.utf8CodeUnitCount }
        return nil
    }

    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")
    private static let question = UInt8(ascii: "?")
    private static let percent = UInt8(ascii: "%")
    private static let hostBytes = ByteSet("abcdefghijklmnopqrstuvwxyz0123456789-._")
    private static let hexBytes = ByteSet("0123456789ABCDEF")
    private static let words =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$&'()*+,-.:;=@[]^_|~"
    /// Without the slash, behind which a dot segment may come.
    private static let pathBytes = ByteSet(words)
    /// What goes raw behind the question mark: dots mean nothing here.
    private static let queryBytes = ByteSet(words + "/?`{}")
}

/// A set of ASCII characters, asked in one step.
private struct ByteSet {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ text: String) {
        for byte in text.utf8 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
    }

    func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 != 0
    }
}
