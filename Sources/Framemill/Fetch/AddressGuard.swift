// The guard judges the address that is about to be dialled, as 16 bytes, in curl's open-socket callback:
// after every name lookup, for every record and on every hop. Text of URLs is not judged: there are too many
// ways to spell one.

internal import CCurl
internal import FramemillMedia
internal import Glibc

/// Which addresses may be dialled: public ones, and those of networks that the configuration allows.
struct AddressGuard: Sendable {
    private struct Network: Sendable {
        var address: [UInt8]
        var bits: Int
        func contains(_ other: [UInt8]) -> Bool { AddressGuard.agree(address, other, bits: bits) }
    }
    private let allowed: [Network]
    private let denied: [[UInt8]]

    /// - Parameters:
    ///   - networks: CIDR such as `127.0.0.1/32`, `10.0.0.0/8` or `::1`.
    ///   - denied: addresses of 16 bytes; they are refused even in a network that is allowed.
    init(allowing networks: [String], denying denied: [[UInt8]] = []) throws(Failure) {
        self.denied = denied
        var allowed: [Network] = []
        for text in networks {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2, let address = Self.parse(String(parts[0])) else {
                throw Failure(
                    .badOption, .input, "\"\(text)\" is not a network such as 127.0.0.1/32 (allowNet)")
            }
            let isShort = Self.isIPv4(address) && parts[0].contains(".")
            guard let bits = parts.count == 2 ? Int(parts[1]) : isShort ? 32 : 128, bits >= 0,
                bits <= (isShort ? 32 : 128)
            else { throw Failure(.badOption, .input, "\"\(text)\" has no valid prefix length (allowNet)") }
            allowed.append(Network(address: address, bits: isShort ? bits + 96 : bits))
        }
        self.allowed = allowed
    }

    /// Judges an address of 16 bytes; IPv4 comes as `::ffff:a.b.c.d`.
    func allows(_ address: [UInt8]) -> Bool {
        guard address.count == 16, !denied.contains(address) else { return false }
        return allowed.contains { $0.contains(address) } || Self.isPublic(address)
    }

    private static func isPublic(_ address: [UInt8]) -> Bool {
        if let inner = embeddedIPv4(in: address) { return isPublicIPv4(inner) }
        // Only 2000::/3 is given out to the public (IANA). In it: 2001::/23 is for protocols (Teredo among
        // them), 2001:db8::/32 and 3fff::/20 are for documents.
        guard address[0] & 0xE0 == 0x20 else { return false }
        return !agree(address, [0x20, 0x01, 0x00], bits: 23)
            && !agree(address, [0x20, 0x01, 0x0D, 0xB8], bits: 32)
            && !agree(address, [0x3F, 0xFF, 0x00], bits: 20)
    }

    /// The IPv4 address that an IPv6 address stands for: mapped, compatible, NAT64 (RFC 6052) or 6to4 (RFC
    /// 3056).
    private static func embeddedIPv4(in address: [UInt8]) -> [UInt8]? {
        if isIPv4(address) { return Array(address[12...]) }
        if agree(address, [UInt8](repeating: 0, count: 12), bits: 96) { return Array(address[12...]) }
        if agree(address, [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], bits: 96) {
            return Array(address[12...])
        }
        if agree(address, [0x20, 0x02], bits: 16) { return Array(address[2..<6]) }
        return nil
    }

    private static func isPublicIPv4(_ address: [UInt8]) -> Bool {
        // RFC 6890 and its heirs: this network, private, shared, loopback, link-local, protocols, documents,
        // 6to4 relays, benchmarks, multicast, reserved. `::` and `::1` come here as 0.0.0.0 and 0.0.0.1.
        let refused: [([UInt8], Int)] = [
            ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12),
            ([192, 0, 0], 24),
            ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
            ([203, 0, 113], 24), ([224], 4), ([240], 4),
        ]
        return !refused.contains { agree(address, $0.0, bits: $0.1) }
    }

    private static func isIPv4(_ address: [UInt8]) -> Bool {
        agree(address, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], bits: 96)
    }

    /// Whether the first `bits` bits are equal; both hold at least so many.
    private static func agree(_ left: [UInt8], _ right: [UInt8], bits: Int) -> Bool {
        let whole = bits / 8
        guard left[..<whole] == right[..<whole] else { return false }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (bits % 8))
        return bits % 8 == 0 || left[whole] & mask == right[whole] & mask
    }
}

extension AddressGuard {
    /// Whether a text is an IPv6 address, with or without a zone (`%25eth0`).
    static func isIPv6(_ text: Substring) -> Bool {
        let address = text.prefix { $0 != "%" }
        let zone = text[address.endIndex...]
        let zoneFits =
            zone.isEmpty || zone.hasPrefix("%25") && zone.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        return zoneFits && address.contains(":") && parse(String(address)) != nil
    }

    /// A dotted IPv4 or an IPv6 address as 16 bytes.
    static func parse(_ text: String) -> [UInt8]? {
        var short = [UInt8](repeating: 0, count: 4)
        // inet_pton writes 4 bytes for AF_INET and 16 for AF_INET6; the arrays have them.
        if unsafe inet_pton(AF_INET, text, &short) == 1 {
            return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + short
        }
        var long = [UInt8](repeating: 0, count: 16)
        return unsafe inet_pton(AF_INET6, text, &long) == 1 ? long : nil
    }

    /// The usual way to write an address of 16 bytes.
    static func text(_ address: [UInt8]) -> String {
        let isShort = isIPv4(address)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let bytes = isShort ? Array(address[12...]) : address
        // inet_ntop reads 4 or 16 bytes and writes at most INET6_ADDRSTRLEN, zero included.
        unsafe inet_ntop(isShort ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The address inside a socket address as 16 bytes; `nil` for other families.
    static func bytes(of address: UnsafeRawBufferPointer) -> [UInt8]? {
        // Both loads are in bounds by the sizes asked first; loadUnaligned asks for no alignment.
        guard address.count >= MemoryLayout<sockaddr_in>.size else { return nil }
        switch Int32(unsafe address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!
            let short = unsafe Array(address[offset..<offset + 4])
            return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + short
        case AF_INET6:
            guard address.count >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
            return unsafe Array(address[offset..<offset + 16])
        default: return nil
        }
    }
}

// MARK: - Dialling

extension AddressGuard {
    enum Dialled {
        case socket(curl_socket_t)
        /// Judged and not dialled; the address as text.
        case refused(String)
        /// The system gives no socket.
        case failed
    }

    /// Opens a socket to the address that curl is about to dial, if it may be dialled.
    func dial(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Dialled {
        // The socket address at the end is followed by room for a sockaddr_storage; `addrlen` says how much is used.
        let start = unsafe UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
        let bytes = unsafe Self.bytes(
            of: UnsafeRawBufferPointer(start: start, count: Int(address.pointee.addrlen)))
        guard let bytes, allows(bytes) else {
            return .refused(bytes.map(Self.text) ?? "an address of unknown kind")
        }
        let wanted = unsafe address.pointee
        let made = socket(wanted.family, wanted.socktype | Int32(SOCK_CLOEXEC.rawValue), wanted.protocol)
        return made < 0 ? .failed : .socket(made)
    }

    /// What is said of a host that was refused.
    func refusal(_ host: String, at address: String) -> Failure {
        let place = host.contains(address) ? "\(address) is" : "\(host) is at \(address), which is"
        let isDenied = Self.parse(address).map { denied.contains($0) } ?? false
        return Failure(
            .blockedAddress, .fetch,
            isDenied
                ? "\(place) denied (Configuration.denyHosts, --deny-host)"
                : "\(place) not a public address (Configuration.allowNet, --allow-net \(address))")
    }
}
