/// The address of a Redis or Valkey server, which the operator configures as a URL.
///
/// The scheme selects the kind of address:
/// - `redis://host:port` is a single server; `rediss` adds TLS.
/// - `redis+sentinel://name@host:port,host:port` lists sentinels that watch a primary called
///   `name`; `rediss+sentinel` uses TLS both to the sentinels and to the primary.
/// - `redis+cluster://host:port,host:port` lists some of a cluster's nodes, which know the other
///   nodes.
///
/// `valkey` and `valkeys` are aliases of `redis` and `rediss`. A server's user name precedes the
/// host. The password is a separate setting, because URLs are logged.
package struct RedisAddress: Sendable, Hashable {
    /// The servers behind an address.
    package enum Topology: Sendable, Hashable {
        case server(RedisEndpoint)
        /// Sentinels report the primary's address.
        case sentinels([RedisEndpoint], primary: String)
        /// Cluster nodes report which node owns each slot.
        case cluster([RedisEndpoint])
    }

    package var topology: Topology
    package var usesTLS = false
    /// A user in the server's access control list; `nil` means the default user.
    package var user: String?

    package init(_ topology: Topology) { self.topology = topology }

    /// - Throws: ``RedisTierError/Code/rejected``. The message does not quote the URL.
    package init(url: String) throws(RedisTierError) {
        guard let separator = url.firstRange(ofText: "://") else { throw .address("it has no scheme") }
        let scheme = url[..<separator.lowerBound].lowercased()
        var rest = url[separator.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains(where: { "/?#%".contains($0) }) else {
            throw .address("it cannot have a path, a query or escapes; there is only one database")
        }
        let parts = rest.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count <= 2, let hosts = parts.last else { throw .address("it has several '@'") }
        let user = parts.count == 2 ? String(parts[0]) : nil
        guard user?.contains(":") != true else {
            throw .address("it contains a password, which belongs in 'fleet.password'")
        }
        guard user != "" else { throw .address("the user before '@' is empty") }
        switch scheme {
        case "redis", "valkey", "rediss", "valkeys":
            guard !hosts.contains(",") else { throw .address("several hosts need 'redis+sentinel' or 'redis+cluster'") }
            topology = .server(try Self.endpoint(hosts, defaultPort: 6379))
            self.user = user
        case "redis+sentinel", "valkey+sentinel", "rediss+sentinel", "valkeys+sentinel":
            guard let user else { throw .address("the name of the primary must precede '@'") }
            topology = .sentinels(try Self.endpoints(hosts, defaultPort: 26379), primary: user)
        case "redis+cluster", "rediss+cluster", "valkey+cluster", "valkeys+cluster":
            topology = .cluster(try Self.endpoints(hosts, defaultPort: 6379))
            self.user = user
        default:
            throw .address("its scheme must be redis, redis+sentinel or redis+cluster, or one of these with rediss")
        }
        usesTLS = scheme.hasPrefix("rediss") || scheme.hasPrefix("valkeys")
    }

    static let mostHosts = 16

    private static func endpoints(_ hosts: Substring, defaultPort: Int) throws(RedisTierError) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint] = []
        for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
            endpoints.append(try endpoint(host, defaultPort: defaultPort))
        }
        guard endpoints.count <= mostHosts else { throw .address("it has more than \(mostHosts) hosts") }
        return endpoints
    }

    private static func endpoint(
        _ text: Substring,
        defaultPort: Int
    ) throws(RedisTierError) -> RedisEndpoint {
        var host = text
        var port = defaultPort
        // An IPv6 address is enclosed in brackets.
        if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
            let digits = text[text.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = Int(digits), (1...65_535).contains(number)
            else { throw .address("a port must be 1 to 65535") }
            port = number
            host = text[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.utf8.allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }) else {
                throw .address("an address in brackets is not an IPv6 address")
            }
        } else {
            guard host.utf8.allSatisfy({ $0.isHostByte }) else { throw .address("a host has invalid characters") }
        }
        guard (1...253).contains(host.utf8.count) else { throw .address("a host is empty or too long") }
        return .tcp(host: String(host), port: port)
    }
}

extension RedisTierError {
    fileprivate static func address(_ fault: String) -> RedisTierError {
        RedisTierError(
            .rejected,
            "The address in 'fleet.url' is not valid: \(fault). Write 'redis://host:6379', "
                + "'rediss://user@host:6379', 'redis+sentinel://name@host:26379,host:26379' or "
                + "'redis+cluster://host:6379,host:6379'."
        )
    }
}

extension String {
    fileprivate func firstRange(ofText text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    fileprivate var isHostByte: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
