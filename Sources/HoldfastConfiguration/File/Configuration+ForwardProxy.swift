import CacheRules
import HTTPCacheSemantics

extension Configuration {
    /// `forward-proxy`: the origins that a gateway's clients may name themselves.
    package struct ForwardProxy: Sendable, Hashable {
        /// A member of `hosts`.
        package struct Host: Sendable, Hashable {
            /// A name, or `*.` before a name, for one more label.
            package var name: String
            /// `upgrade: https`: whether requests with http are sent with https.
            package var upgrades = false

            /// The host as written in a file.
            var text: String { upgrades ? "{host: \"\(name)\", upgrade: https}" : Self.quoted(name) }

            // YAML reads a star or a bracket as something else.
            private static func quoted(_ name: String) -> String {
                name.hasPrefix("*") || name.hasPrefix("[") ? "\"\(name)\"" : name
            }
        }

        /// `hosts`: the hosts that requests may name. If empty, there is no proxy.
        package var hosts: [Host] = []
        /// `prefix`: the path below which requests name their origin; `nil` if they cannot.
        package var prefix: String? = ForwardProxy.standardPrefix
        /// `ports`: the ports that requests may name in addition to 80 and 443.
        package var ports: [UInt16] = []
        /// `addresses`: addresses that the hosts may have although they are private, link-local or
        /// this machine's.
        package var addresses: [AddressRange] = []
        /// `allow`: the clients that may use the proxy, of those that the gateway serves at all. If
        /// empty, all of these may.
        package var allow: [AddressRange] = []

        /// The default of ``prefix``.
        static let standardPrefix = "/proxy"
        /// The maximum number of hosts.
        package static let hostLimit = 256
        /// The maximum number of ports.
        package static let portLimit = 16

        /// Creates settings without hosts.
        package init() {}

        /// Whether there is a proxy.
        package var isOn: Bool { !hosts.isEmpty }

        /// Whether a client may name a host.
        func leads(to host: String) -> Bool { hosts.contains { Route.host($0.name, covers: host) } }
    }

    /// Whether the configuration is for a gateway, and not for the library.
    package var isForGateway: Bool { routeCount > 0 || forwardProxy.isOn }

    /// Whether no request can reach an origin.
    package var leadsNowhere: Bool { routes.isEmpty && !forwardProxy.isOn }

    /// Returns findings for settings of the forward proxy that have no effect, and for routes that
    /// it hides.
    ///
    /// - Parameter refused: the settings whose values could not be read.
    func forwardContradictions(refused: Set<String>) -> [ConfigurationError.Finding] {
        guard !refused.contains("forward-proxy.hosts") else { return [] }
        guard forwardProxy.isOn else {
            return TopSetting.forwardProxy.map(\.name).filter { lines[$0] != nil }.map {
                finding($0, "It has no effect without 'forward-proxy.hosts'. List the hosts there, or remove it.")
            }
        }
        guard let prefix = forwardProxy.prefix else { return [] }
        let hidden = PathPrefix(prefix)
        var findings = routes.enumerated().filter { hidden.rest(of: $1.path) != nil }.map { index, route in
            hiding(prefix, route.subject(number: index + 1))
        }
        findings += fixedRoutes.filter { hidden.rest(of: $0.path) != nil }.map { hiding(prefix, $0.subject) }
        return findings
    }

    private func hiding(_ prefix: String, _ subject: String) -> ConfigurationError.Finding {
        finding(
            "forward-proxy.prefix",
            "\(shown(prefix)) hides \(subject), whose path begins with it. Choose another path, or 'off'."
        )
    }
}

/// The settings of the forward proxy.
extension TopSetting {
    static let forwardProxy = [
        TopSetting(
            "forward-proxy.hosts",
            .list(
                .either([
                    .text,
                    .mapping([
                        .init("host", .text, isRequired: true),
                        .init("upgrade", .word(["https"])),
                    ]),
                ])
            ),
            read: { (value, configuration) throws(Refusal) in configuration.forwardProxy.hosts = try hosts(value) },
            written: {
                let hosts = $0.forwardProxy.hosts
                return hosts.isEmpty ? nil : "[\(hosts.map(\.text).joined(separator: ", "))]"
            }
        ),
        TopSetting(
            "forward-proxy.prefix",
            .orOff(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.forwardProxy.prefix = value.isOff ? nil : try prefix(value)
            },
            written: { $0.forwardProxy.prefix ?? "off" }
        ),
        TopSetting(
            "forward-proxy.ports",
            .list(.integer(1...65535)),
            read: { (value, configuration) throws(Refusal) in configuration.forwardProxy.ports = try ports(value) },
            written: {
                let ports = $0.forwardProxy.ports
                return ports.isEmpty ? nil : Writers.list(ports.map { "\($0)" })
            }
        ),
        TopSetting(
            "forward-proxy.addresses",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.forwardProxy.addresses = try Readers.listedClients(value)
            },
            written: { Writers.addresses($0.forwardProxy.addresses) }
        ),
        TopSetting(
            "forward-proxy.allow",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.forwardProxy.allow = try Readers.listedClients(value)
            },
            written: { Writers.addresses($0.forwardProxy.allow) }
        ),
    ]

    private static func hosts(_ value: FileValue) throws(Refusal) -> [Configuration.ForwardProxy.Host] {
        let items = try value.list(of: "hosts such as 'deb.debian.org' or '{host: deb.debian.org, upgrade: https}'")
        let limit = Configuration.ForwardProxy.hostLimit
        guard items.count <= limit else {
            throw Refusal("There are \(items.count) hosts. The limit is \(limit). Use '*.' before a name.")
        }
        var result: [Configuration.ForwardProxy.Host] = []
        for item in items {
            let host = try host(item)
            guard !result.contains(where: { $0.name == host.name }) else {
                throw Refusal("\(shown(host.name)) is listed twice. Remove one of them.", line: item.line)
            }
            result.append(host)
        }
        return result
    }

    private static func host(_ value: FileValue) throws(Refusal) -> Configuration.ForwardProxy.Host {
        guard case .mapping(let entries, let line) = value else {
            return Configuration.ForwardProxy.Host(name: try name(value))
        }
        var name: String?
        var upgrades = false
        for entry in entries {
            switch entry.key {
            case "host": name = try self.name(entry.value)
            case "upgrade":
                upgrades = try entry.reading { (value) throws(Refusal) in try value.word([("https", true)]) }
            default: throw Readers.unknown(entry, of: ["host", "upgrade"])
            }
        }
        guard let name else { throw Refusal("'host' is missing. Write the host that clients request.", line: line) }
        return Configuration.ForwardProxy.Host(name: name, upgrades: upgrades)
    }

    private static func name(_ value: FileValue) throws(Refusal) -> String {
        let text = try value.text("a host").lowercased()
        guard !text.allSatisfy({ $0 == "*" || $0 == "." }) else {
            throw Refusal(
                "\(value.shown) is every host, which would be an open proxy. List the hosts, such as 'deb.debian.org' or '*.debian.org'.",
                line: value.line
            )
        }
        if text.contains("://") {
            throw Refusal("\(value.shown) is a URL. Write its host alone.", line: value.line)
        }
        guard !text.dropFirst(text.hasPrefix("*.") ? 2 : 0).contains("*") else {
            throw Refusal(
                "\(value.shown) has a star that is not the whole first label. Write '*.' before a name.",
                line: value.line
            )
        }
        if let fault = Configuration.fault(ofHost: text) { throw Refusal(fault, line: value.line) }
        guard !text.hasPort else {
            throw Refusal(
                "\(value.shown) has a port. Write the host alone, and the port in 'forward-proxy.ports'.",
                line: value.line
            )
        }
        return text
    }

    private static func prefix(_ value: FileValue) throws(Refusal) -> String {
        let text = try path(value)
        guard text != "/", !text.hasSuffix("/"), !text.contains(";") else {
            throw Refusal(
                "\(value.shown) is not a path such as '/proxy', which does not end with a slash and has no ';'."
            )
        }
        return text
    }

    private static func ports(_ value: FileValue) throws(Refusal) -> [UInt16] {
        let items = try value.list(of: "ports such as 8080")
        let limit = Configuration.ForwardProxy.portLimit
        guard items.count <= limit else { throw Refusal("There are \(items.count) ports. The limit is \(limit).") }
        var result: [UInt16] = []
        for item in items { result.append(UInt16(clamping: try item.integer(1...65535))) }
        return result
    }
}
