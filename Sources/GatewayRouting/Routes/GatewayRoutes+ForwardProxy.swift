import HTTPCacheSemantics
package import HoldfastConfiguration

extension GatewayRoutes {
    /// Reads the routes of a configuration, and its forward proxy.
    ///
    /// - Parameters:
    ///   - ownPorts: the ports on which the gateway listens.
    ///   - checksClients: whether `forward-proxy.allow` applies.
    /// - Throws: `ConfigurationError`
    package init(
        all configuration: HoldfastConfiguration.Configuration,
        ownPorts: Set<UInt16>,
        checksClients: Bool = true
    ) throws {
        let hasNone = configuration.routes.isEmpty && configuration.isForGateway
        let routes = try hasNone ? .empty : GatewayRoutes(configuration.routes, file: configuration.file)
        let settings = configuration.forwardProxy
        guard settings.isOn else {
            self = routes
            return
        }
        var destinations = DestinationPolicy(allowsPrivate: false)
        destinations.allowed = settings.addresses
        destinations.ownPorts = ownPorts
        let patterns = settings.hosts.compactMap { host in HostPattern(host.name).map { ($0.name, host.upgrades) } }
        let proxy = ForwardProxy(
            hosts: Dictionary(patterns) { first, _ in first },
            ports: Set(settings.ports),
            prefix: settings.prefix,
            destinations: destinations
        )
        let findings = proxy.findings(in: configuration, routes)
        guard findings.isEmpty else { throw ConfigurationError(findings) }
        self = routes.adding(proxy) { route in
            if checksClients { route.clients.allow = settings.allow }
        }
    }
}

extension ForwardProxy {
    /// Returns findings about hosts to which the proxy never connects, and about routes whose
    /// requests could not be told apart from the proxy's.
    fileprivate func findings(
        in file: HoldfastConfiguration.Configuration,
        _ routes: GatewayRoutes
    ) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        for host in file.forwardProxy.hosts {
            let name = host.name.hasPrefix("[") ? String(host.name.dropFirst().dropLast()) : host.name
            guard let bytes = AddressRange.bytes(of: name), destinations.refusal(of: bytes, port: 0) != nil else {
                continue
            }
            findings.append(
                file.finding(
                    "forward-proxy.hosts",
                    "'\(host.name)' is a private address, or one of this machine, to which the proxy does not connect. Add it to 'forward-proxy.addresses', or remove it."
                )
            )
        }
        for route in routes.own where route.preservesHost && overlaps(route.pattern) {
            let name = route.name.map { "route '\($0)'" } ?? "a route"
            findings.append(
                file.finding(
                    "forward-proxy.hosts",
                    "A host of the list may be one of \(name), which preserves the client's host, so both would share stored responses. Remove 'preserve-host', or give the route a 'host' that is not in the list."
                )
            )
        }
        return findings
    }
}
