import CacheRules

/// The addresses and sockets on which a gateway listens.
extension Configuration {
    /// Returns the schemes that requests can have. Trusted proxies may report either scheme.
    static func schemes(listenersHaveTLS: [Bool], trusted: [AddressRange]) -> Set<String> {
        trusted.isEmpty ? Set(listenersHaveTLS.map { $0 ? "https" : "http" }) : ["http", "https"]
    }

    /// Returns the schemes over which clients can reach the routes with an origin: `http`, `https`,
    /// or both. If both, the scheme helps select stored responses.
    ///
    /// - Parameter answered: see ``answeredSchemes``. Trusted proxies may state the scheme in more
    ///   fields than the routes read, so with them it does not matter.
    package static func clientSchemes(
        listenersHaveTLS: [Bool],
        trusted: [AddressRange],
        answered: Set<String>
    ) -> Set<String> {
        let all = schemes(listenersHaveTLS: listenersHaveTLS, trusted: trusted)
        return trusted.isEmpty ? all.subtracting(answered) : all
    }

    /// The schemes over which clients can reach the routes with an origin, with the settings in
    /// this file. Empty for a configuration of the library.
    package var clientSchemes: Set<String> {
        guard isForGateway else { return [] }
        return Self.clientSchemes(
            listenersHaveTLS: listenersHaveTLS,
            trusted: clients.trusted,
            answered: answeredSchemes
        )
    }

    /// The schemes that requests can have.
    var schemes: Set<String> { Self.schemes(listenersHaveTLS: listenersHaveTLS, trusted: clients.trusted) }

    /// Without `listen`, the gateway listens on one port, without TLS.
    private var listenersHaveTLS: [Bool] { listeners.isEmpty ? [false] : listeners.map { $0.tls != nil } }

    /// A member of `listen`.
    package enum Listener: Sendable, Hashable {
        /// A host and port (`HOST:PORT`, with an IPv6 address in brackets), and whether clients may
        /// use HTTP/2.
        ///
        /// With `proxyProtocol`, each connection begins with a PROXY protocol header.
        case address(String, tls: TLS? = nil, http2: Bool = true, proxyProtocol: Bool = false)
        /// A Unix socket: its path, relative to the folder of the configuration file, its
        /// permissions, and whether clients may use HTTP/2.
        case unix(path: String, mode: UInt16, tls: TLS? = nil, http2: Bool = true, proxyProtocol: Bool = false)

        /// The permissions of a Unix socket without a `mode`: its owner and group may connect.
        package static let standardMode: UInt16 = 0o660

        /// The value as written in a file.
        package var text: String {
            let more =
                (tls.map { ", tls: \($0.text)" } ?? "") + (isHTTP2 ? "" : ", http2: false")
                + (expectsProxyHeader ? ", proxy-protocol: true" : "")
            switch self {
            case .address(let address, _, _, _):
                return more.isEmpty ? address : "{address: \(Self.quoted(address))\(more)}"
            case .unix(let path, let mode, _, _, _):
                return "{unix: \(path), mode: \(Self.text(mode: mode))\(more)}"
            }
        }

        /// The address, or the path of the Unix socket.
        var place: String {
            switch self {
            case .address(let address, _, _, _): address
            case .unix(let path, _, _, _, _): path
            }
        }

        /// The TLS settings; `nil` if clients connect without TLS.
        package var tls: TLS? {
            switch self {
            case .address(_, let tls, _, _), .unix(_, _, let tls, _, _): tls
            }
        }

        /// Whether `http2` leaves HTTP/2 enabled. With TLS, `alpn` also matters.
        package var isHTTP2: Bool {
            switch self {
            case .address(_, _, let http2, _), .unix(_, _, _, let http2, _): http2
            }
        }

        /// Whether each connection begins with a PROXY protocol header.
        package var expectsProxyHeader: Bool {
            switch self {
            case .address(_, _, _, let proxy), .unix(_, _, _, _, let proxy): proxy
            }
        }

        /// Quotes an address for a flow mapping, where a bracket would begin a list.
        private static func quoted(_ address: String) -> String {
            address.hasPrefix("[") ? "\"\(address)\"" : address
        }

        /// Returns permissions as written in a file: `0660`.
        package static func text(mode: UInt16) -> String {
            let digits = String(mode, radix: 8)
            return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    /// The maximum number of listeners in `listen`.
    package static let listenerLimit = 16

    /// The first host and port in ``listeners``; `nil` if there is none. Setting it replaces the
    /// whole list.
    package var listen: String? {
        get {
            for case .address(let address, _, _, _) in listeners { return address }
            return nil
        }
        set { listeners = newValue.map { [.address($0)] } ?? [] }
    }

    /// Returns the value of `listen` as written in a file: one address or a list.
    package static func text(listeners: [String]) -> String {
        listeners.count == 1 && !listeners[0].hasPrefix("{") ? listeners[0] : "[\(listeners.joined(separator: ", "))]"
    }
}

extension TopSetting {
    static let listening = TopSetting(
        "listen",
        listenShape,
        read: { (value, configuration) throws(Refusal) in configuration.listeners = try listeners(value) },
        written: {
            $0.listeners.isEmpty ? "127.0.0.1:8080" : Configuration.text(listeners: $0.listeners.map(\.text))
        }
    )

    private static let listenShape = Shape.either([
        .text,
        .sequence(
            .either([
                .text,
                .mapping([
                    .init("address", .text), .init("unix", .text), .init("mode", .permissions),
                    .init("tls", TLSReader.shape, describedBy: "listener.tls"),
                    .init("http2", .flag, describedBy: "listener.http2"),
                    .init("proxy-protocol", .flag, describedBy: "listener.proxy-protocol"),
                ]),
            ]),
            limit: Configuration.listenerLimit
        ),
    ])
    private static let listenerKeys = ["address", "unix", "mode", "tls", "http2", "proxy-protocol"]
    private static let listenerForms = "'HOST:PORT', '{address: HOST:PORT}' or '{unix: PATH, mode: 0660}'"

    private static func listeners(_ value: FileValue) throws(Refusal) -> [Configuration.Listener] {
        if case .text = value { return [.address(try address(value))] }
        guard case .list(let values, _) = value, !values.isEmpty else {
            if case .mapping = value {
                throw Refusal("A listener with settings must be in a list: write '[{…}]', with \(listenerForms) in it.")
            }
            throw Refusal("Expected 'HOST:PORT', or a list of \(listenerForms), not \(value.shown).")
        }
        guard values.count <= Configuration.listenerLimit else {
            throw Refusal("There are \(values.count) listeners. The limit is \(Configuration.listenerLimit).")
        }
        var result: [Configuration.Listener] = []
        var certificates: [String: Configuration.TLS.Certificate] = [:]
        for value in values {
            let listener = try listener(value)
            if let other = result.first(where: { collide($0, listener) }) {
                throw Refusal(
                    listener.place == other.place
                        ? "\(shown(listener.text)) is listed twice. Remove one of them."
                        : "\(shown(listener.place)) cannot be opened in addition to \(shown(other.place)). Remove one of them.",
                    line: value.line
                )
            }
            for certificate in listener.tls?.certificates ?? [] {
                // Metrics and messages identify a certificate only by its name.
                guard certificates.updateValue(certificate, forKey: certificate.name) ?? certificate == certificate
                else {
                    throw Refusal(
                        "The name \(shown(certificate.name)) already belongs to a certificate with other files. Choose another name.",
                        line: value.line
                    )
                }
            }
            result.append(listener)
        }
        return result
    }

    /// Returns whether two listeners have the same path, or addresses of which only one could be
    /// opened.
    private static func collide(_ one: Configuration.Listener, _ other: Configuration.Listener) -> Bool {
        switch (one, other) {
        case (.address(let one, _, _, _), .address(let other, _, _, _)):
            ListenerAddress(one).collides(with: ListenerAddress(other))
        case (.unix(let one, _, _, _, _), .unix(let other, _, _, _, _)): one == other
        case (.address, .unix), (.unix, .address): false
        }
    }

    private static func listener(_ value: FileValue) throws(Refusal) -> Configuration.Listener {
        guard case .mapping(let entries, let line) = value else { return .address(try address(value)) }
        var address: String?
        var path: String?
        var mode: UInt16?
        var tls: Configuration.TLS?
        var http2: Bool?
        var proxy = false
        for entry in entries {
            switch entry.key {
            case "address": address = try self.address(entry.value)
            case "unix": path = try entry.value.text("the path of a Unix socket")
            case "mode": mode = try permissions(entry.value)
            case "tls": tls = try TLSReader.settings(entry.value)
            case "http2": http2 = try entry.flag()
            case "proxy-protocol": proxy = try entry.flag()
            default: throw Readers.unknown(entry, of: listenerKeys)
            }
        }
        if let http2, let tls, http2 != tls.protocols.contains(.http2) {
            // Without 'alpn', the default protocols apply, which cannot contradict 'http2'.
            guard !http2, !namesProtocols(entries) else {
                throw Refusal("'http2' and 'alpn' contradict each other. Remove one of them.", line: line)
            }
        }
        let isHTTP2 = http2 ?? true
        switch (address, path) {
        case (let address?, nil):
            guard mode == nil else { throw Refusal("'mode' applies only to Unix sockets. Remove it.", line: line) }
            return .address(address, tls: tls, http2: isHTTP2, proxyProtocol: proxy)
        case (nil, let path?):
            return .unix(
                path: path,
                mode: mode ?? Configuration.Listener.standardMode,
                tls: tls,
                http2: isHTTP2,
                proxyProtocol: proxy
            )
        default:
            throw Refusal("A listener needs either 'address' or 'unix'. Write \(listenerForms).", line: line)
        }
    }

    /// Returns whether the TLS settings among the entries include `alpn`.
    private static func namesProtocols(_ entries: [FileValue.Entry]) -> Bool {
        guard case .mapping(let settings, _)? = entries.first(where: { $0.key == "tls" })?.value else { return false }
        return settings.contains { $0.key == "alpn" }
    }

    /// Returns the path if an address was written as in other programs: `/run/a.sock` or
    /// `unix:/run/a.sock`.
    private static func socketPath(_ value: FileValue) -> String? {
        guard case .text(let text, _, _) = value else { return nil }
        for prefix in ["unix://", "unix:", ""] where text.hasPrefix("\(prefix)/") {
            return String(text.dropFirst(prefix.count))
        }
        return nil
    }

    /// Reads a host and port. A refusal includes its own line number, because the value may be in a
    /// list.
    private static func address(_ value: FileValue) throws(Refusal) -> String {
        do throws(Refusal) {
            return try listen(value)
        } catch {
            let line = error.line ?? value.line
            guard let path = socketPath(value) else { throw Refusal(error.message, line: line) }
            throw Refusal(
                "\(value.shown) is the path of a Unix socket. Write \(shown("[{unix: \(path)}]")).",
                line: line
            )
        }
    }

    /// Reads octal permissions: `0660`.
    private static func permissions(_ value: FileValue) throws(Refusal) -> UInt16 {
        let text = try value.text("permissions such as '0660'")
        guard (3...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mode = UInt16(text, radix: 8), mode <= 0o777
        else {
            throw Refusal(
                "\(value.shown) is not an octal file mode such as '0660' or '0666'.",
                line: value.line
            )
        }
        return mode
    }
}
