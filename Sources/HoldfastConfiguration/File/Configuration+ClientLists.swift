import CacheRules

extension Configuration {
    /// `clients` of the top level or of a route: the addresses of clients that a gateway serves.
    public struct ClientLists: Sendable, Hashable {
        /// `allow`: the clients that are served; at most 1,000. If the list is empty, all clients
        /// are served that ``deny`` does not contain. Default: empty
        public var allow: [AddressRange] = []
        /// `deny`: the clients that are rejected, even if ``allow`` contains them; at most 1,000.
        /// Default: empty
        public var deny: [AddressRange] = []

        /// The maximum number of entries in a list: 1,000.
        package static let limit = 1000

        /// Creates lists.
        public init(allow: [AddressRange] = [], deny: [AddressRange] = []) {
            self.allow = allow
            self.deny = deny
        }

        /// Whether all clients are served.
        package var isEmpty: Bool { allow.isEmpty && deny.isEmpty }

        /// Returns whether a client is served.
        ///
        /// - Parameters:
        ///   - address: an IP address, or ``AddressRange/unixName``; `nil` if it is not known.
        ///   - isOwn: whether the address is the client's. If it is a proxy's that names no client,
        ///     it can only deny.
        package func admit(_ address: String?, isOwn: Bool) -> Bool { rejecting(address, isOwn: isOwn) == nil }

        /// The name of a list.
        package enum List: String {
            case allow, deny
        }

        /// Returns the list because of which a client is rejected; `nil` if it is served.
        ///
        /// - Parameters: those of ``admit(_:isOwn:)``.
        package func rejecting(_ address: String?, isOwn: Bool) -> List? {
            guard let parsed = address.flatMap({ AddressRange.Parsed($0) }) else { return allow.isEmpty ? nil : .allow }
            if deny.contains(where: { $0.contains(parsed) }) { return .deny }
            return allow.isEmpty || isOwn && allow.contains { $0.contains(parsed) } ? nil : .allow
        }
    }
}

extension Configuration.ClientLists {
    /// Whether the lists certainly reject every client.
    ///
    /// - Parameter hasUnixClients: whether clients can connect through a Unix socket.
    func rejectEveryClient(hasUnixClients: Bool) -> Bool {
        let wanted = allow.isEmpty ? ["0.0.0.0/0", "::/0"].compactMap { AddressRange($0) } : allow
        return wanted.allSatisfy { range in deny.contains { $0.covers(range) } }
            && (!allow.isEmpty || !hasUnixClients || deny.contains { $0.contains(AddressRange.unixName) })
    }
}

extension Configuration {
    /// Warnings about lists of clients that reject every client.
    var listWarnings: [ConfigurationError.Finding] {
        let hasUnixClients = listeners.contains { if case .unix = $0 { true } else { false } }
        func fault(of lists: ClientLists) -> String? {
            guard lists.rejectEveryClient(hasUnixClients: hasUnixClients) else { return nil }
            let denied = lists.allow.isEmpty ? "every address" : "every address that 'allow' contains"
            return "No client is served, because 'deny' contains \(denied), and comes first. Remove ranges from 'deny'."
        }
        var findings: [ConfigurationError.Finding] = []
        if let message = fault(of: clients.lists) { findings.append(finding("clients.deny", message)) }
        for (index, route) in routes.enumerated() {
            guard let message = fault(of: route.clients) else { continue }
            findings.append(
                .init(
                    file: route.file ?? file,
                    line: route.line,
                    subject: route.subject(number: index + 1),
                    setting: "clients.deny",
                    message: message
                )
            )
        }
        return findings
    }
}

extension Configuration {
    /// Warnings about lists of trusted clients that contain every address.
    var trustWarnings: [ConfigurationError.Finding] {
        func warning(_ setting: String, _ ranges: [AddressRange], _ effect: String) -> ConfigurationError.Finding? {
            let all = ["0.0.0.0/0", "::/0"].compactMap { AddressRange($0) }
            guard let range = ranges.first(where: { range in all.contains { range.covers($0) } }) else { return nil }
            return finding(setting, "\(shown(range.description)) contains every address, so \(effect)")
        }
        return [
            warning(
                "clients.trusted",
                clients.trusted,
                "every client may state another address and scheme ('Forwarded', 'X-Forwarded-*'), and has no limit of connections. Write the addresses of the proxies."
            ),
            warning(
                "clients.purgers",
                clients.purgers,
                "every client may try tokens for PURGE. Write the addresses of the clients that purge."
            ),
            warning(
                "forward-proxy.allow",
                forwardProxy.allow,
                "every client may request the listed hosts through this gateway. Write the addresses of its clients."
            ),
            warning(
                "forward-proxy.addresses",
                forwardProxy.addresses,
                "clients reach the private network and this machine wherever a listed name leads there. Write the addresses of the hosts."
            ),
        ].compactMap(\.self)
    }
}

extension Configuration {
    /// Warnings about addresses of networks that are in lists without a prefix length.
    var networkWarnings: [ConfigurationError.Finding] {
        func message(about ranges: [AddressRange]) -> String? {
            for range in ranges {
                guard let network = range.intendedNetwork else { continue }
                return
                    "\(shown(range.description)) is one address. For a network, write its prefix length, such as '\(network)'."
            }
            return nil
        }
        var findings = [
            ("clients.trusted", clients.trusted), ("clients.purgers", clients.purgers),
            ("clients.allow", clients.lists.allow), ("clients.deny", clients.lists.deny),
            ("forward-proxy.allow", forwardProxy.allow), ("forward-proxy.addresses", forwardProxy.addresses),
        ].compactMap { setting, ranges in message(about: ranges).map { finding(setting, $0) } }
        for (index, route) in routes.enumerated() {
            for (setting, ranges) in [("clients.allow", route.clients.allow), ("clients.deny", route.clients.deny)] {
                guard let message = message(about: ranges) else { continue }
                findings.append(
                    .init(
                        file: route.file ?? file,
                        line: route.line,
                        subject: route.subject(number: index + 1),
                        setting: setting,
                        message: message
                    )
                )
            }
        }
        return findings
    }
}

extension Readers {
    /// Reads a list of ``Configuration/ClientLists``.
    static func listedClients(_ value: FileValue) throws(Refusal) -> [AddressRange] {
        let ranges = try TopSetting.addresses(value)
        let limit = Configuration.ClientLists.limit
        guard ranges.count <= limit else {
            throw Refusal("There are \(ranges.count) addresses. The limit is \(limit). Write larger ranges.")
        }
        return ranges
    }

    static let clientListsShape = Shape.mapping([
        .init("allow", .list(.text), describedBy: "clients.allow"),
        .init("deny", .list(.text), describedBy: "clients.deny"),
    ])

    /// Reads `clients` of a route.
    static func clientLists(_ value: FileValue) throws(Refusal) -> Configuration.ClientLists {
        var result = Configuration.ClientLists()
        for entry in try value.entries("'{allow: [ADDRESSES], deny: [ADDRESSES]}'") {
            switch entry.key {
            case "allow": result.allow = try listedClients(entry.value)
            case "deny": result.deny = try listedClients(entry.value)
            default: throw unknown(entry, of: ["allow", "deny"])
            }
        }
        return result
    }
}
