// What of a URL may be refused before anything is looked up: its host by name, and its port. The address behind the name
// is judged by `AddressGuard`. Both are asked on every hop.

internal import FramemillMedia

/// Whom the network may be asked for, by all rules there are.
struct NetworkGuard: Sendable {
    let hosts: HostGuard
    let addresses: AddressGuard

    /// - Throws: `badOption` where `allowNet` holds something that is no network, or `denyHosts` what is no host.
    init(_ configuration: Configuration) throws(Failure) {
        let denied = configuration.denyHosts.map { ($0, AddressGuard.parse(Self.bare($0))) }
        hosts = try HostGuard(
            denying: denied.filter { $0.1 == nil }.map(\.0), ports: configuration.allowPorts)
        addresses = try AddressGuard(allowing: configuration.allowNet, denying: denied.compactMap(\.1))
    }

    /// An IPv6 address without the brackets that it has in URLs.
    private static func bare(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}

/// Which names and ports may be asked.
struct HostGuard: Sendable {
    /// In canonical form.
    private let denied: Set<String>
    private let ports: [ClosedRange<Int>]

    /// - Parameters:
    ///   - hosts: names as they stand in URLs; each stands for all names below it too.
    ///   - ports: none for all but those that browsers refuse.
    init(denying hosts: [String], ports: [ClosedRange<Int>]) throws(Failure) {
        var denied: Set<String> = []
        for text in hosts {
            guard case .http(let web)? = try? Location("http://\(text)/"), web.target == "/", web.port == 80,
                !text.contains("@"), !text.contains(":")
            else {
                throw Failure(.badOption, .input, "\"\(text)\" is not a host such as example.org (denyHosts)")
            }
            denied.insert(Self.name(web.host))
        }
        for range in ports where !(1...65535).contains(range.lowerBound) || range.upperBound > 65535 {
            throw Failure(.badOption, .input, "ports are numbers from 1 to 65535 (allowPorts)")
        }
        self.denied = denied
        self.ports = ports
    }

    /// - Throws: `blockedAddress`.
    func admit(_ web: Location.Web) throws(Failure) {
        if denies(web.host) {
            throw Failure(
                .blockedAddress, .fetch, "\(web.host) is denied (Configuration.denyHosts, --deny-host)")
        }
        let isAllowed =
            ports.isEmpty ? !Self.otherProtocols.contains(web.port) : ports.contains { $0.contains(web.port) }
        guard isAllowed else {
            throw Failure(
                .blockedAddress, .fetch,
                ports.isEmpty
                    ? "port \(web.port) belongs to another protocol (Configuration.allowPorts, --allow-port)"
                    : "port \(web.port) is none of those allowed (Configuration.allowPorts, --allow-port)")
        }
    }

    private func denies(_ host: String) -> Bool {
        guard !denied.isEmpty else { return false }
        var rest = Self.name(host)[...]
        while !denied.contains(String(rest)) {
            guard let dot = rest.firstIndex(of: ".") else { return false }
            rest = rest[rest.index(after: dot)...]
        }
        return true
    }

    /// Without the dot that says that nothing is to be put behind.
    private static func name(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    /// "Bad ports" of the Fetch Standard, 2.9 (<https://fetch.spec.whatwg.org/#bad-port>): servers that take an HTTP
    /// request for words of their own protocol.
    private static let otherProtocols: Set<Int> = [
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
        104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
        526, 530,
        531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659,
        4045, 4190,
        5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    ]
}
