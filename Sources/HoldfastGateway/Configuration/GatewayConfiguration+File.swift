import GatewayRouting
import HTTPWire
public import HoldfastConfiguration

extension GatewayConfiguration {
    /// Reads the gateway's settings from a configuration file: `listen`, `clients`, `health`,
    /// `limits`, `timeouts.drain`, `timeouts.client` and `routes`.
    ///
    /// `limits.request-head` limits the field lines. It also limits the request line if it is
    /// smaller than the request line's own limit.
    ///
    /// - Parameters:
    ///   - routes: routes that replace the file's.
    ///   - listen: an address that replaces the file's.
    /// - Throws: `ConfigurationError` if the file has no routes or unusable ones, or if a
    ///   listener's Unix socket path is too long.
    public init(
        _ configuration: HoldfastConfiguration.Configuration,
        routes: GatewayRoutes? = nil,
        listen: ListenAddress? = nil
    ) throws {
        try self.init(configuration, routes: routes, listeners: listen.map { [.address($0)] } ?? [])
    }

    /// Reads the gateway's settings from a configuration file, with any number of replaced
    /// listeners.
    ///
    /// - Parameters:
    ///   - routes: routes that replace the file's.
    ///   - listeners: listeners that replace the file's, unless the array is empty.
    /// - Throws: `ConfigurationError`, also for a rule about a host to which no route of the file
    ///   leads, and for an address of `control` or `metrics` that a listener has.
    public init(
        _ configuration: HoldfastConfiguration.Configuration,
        routes: GatewayRoutes? = nil,
        listeners: [GatewayListener]
    ) throws {
        try self.init(configuration, routes: routes, listeners: listeners, isForJob: false)
    }

    /// - Parameter isForJob: whether the gateway serves only one job, with one identity. If so,
    ///   clients share nothing, and rules may ignore members of content also for requests with
    ///   credentials.
    package init(
        _ configuration: HoldfastConfiguration.Configuration,
        routes: GatewayRoutes?,
        listeners: [GatewayListener],
        isForJob: Bool
    ) throws {
        let unrouted = routes == nil ? configuration.unroutedRules : []
        guard unrouted.isEmpty else { throw ConfigurationError(unrouted) }
        let sharing = isForJob ? [] : configuration.rules.memberFindings
        guard sharing.isEmpty else { throw ConfigurationError(sharing) }
        let fixedRoutes = FixedRoutes(routes == nil ? configuration.fixedRoutes : [])
        self.init(routes: routes ?? .empty)
        self.fixedRoutes = fixedRoutes
        if !fixedRoutes.isEmpty { answeredSchemes = configuration.answeredSchemes }
        let wanted = listeners.isEmpty ? try [GatewayListener](configuration) : listeners
        if !wanted.isEmpty { self.listeners = wanted }
        let all =
            try routes
            ?? GatewayRoutes(
                all: configuration,
                ownPorts: configuration.ownPorts(with: self.listeners),
                checksClients: !isForJob
            )
        self.routes = all.accepting(self.listeners.clientPorts)
        if routes == nil, let finding = configuration.openProxy(on: self.listeners) {
            throw ConfigurationError([finding])
        }
        let shared = Self.sharedAddresses(configuration, self.listeners, areReplaced: !listeners.isEmpty)
        guard shared.isEmpty else { throw ConfigurationError(shared) }
        // The transport reports invalid URLs.
        for entry in configuration.origins {
            guard let origin = try? GatewayOrigin(entry.url), !entry.mirrors.isEmpty else { continue }
            mirrors[origin] = entry.mirrors.compactMap { try? GatewayOrigin($0) }
        }
        let limits = configuration.limits
        if let connections = limits.connections { maximumConnections = connections }
        maximumConnectionsPerClient = limits.connectionsPerClient
        if let bytes = limits.requestBody { contentLimit = bytes }
        if let rate = limits.uploadRate { uploadRate = rate > 0 ? rate : nil }
        if let bytes = limits.keyedContent { keyedContentLimit = bytes }
        if let bytes = limits.requestHead {
            messageLimits.fieldBlock = bytes
            messageLimits.startLine = min(messageLimits.startLine, bytes)
        }
        trustedClients = configuration.clients.trusted
        purgers = configuration.clients.purgers
        clients = configuration.clients.lists
        requestRate = limits.requests
        if configuration.clients.underscoredFields == .pass { underscoredFields = .pass }
        forwardsTrace = configuration.clients.forwardsTrace ?? false
        hidesCacheStatusDetails = configuration.clients.cacheStatus == .trusted
        identifiesRequests = configuration.clients.identifiesRequests ?? false
        healthPath = configuration.health.path
        livePath = configuration.health.live
        readyPath = configuration.health.ready
        if let tunnels = limits.tunnels { maximumTunnels = tunnels }
        if let duration = configuration.stallTimeouts.tunnel { timeouts.tunnel = duration }
        if let duration = configuration.drainTimeout { timeouts.draining = duration }
        if let duration = configuration.stallTimeouts.client { timeouts.content = duration }
        // Other routes are not those that the file's clients use.
        if isForJob, routes == nil { statesHTTPS = configuration.clientSchemes == ["https"] }
    }

    /// Returns findings for addresses of `control` and `metrics` that a listener outside the file
    /// has. The file's own listeners were compared when it was read.
    private static func sharedAddresses(
        _ configuration: HoldfastConfiguration.Configuration,
        _ listeners: [GatewayListener],
        areReplaced: Bool
    ) -> [ConfigurationError.Finding] {
        guard areReplaced || configuration.listeners.isEmpty else { return [] }
        let addresses = listeners.compactMap { listener -> String? in
            if case .address(let address, _, _, _) = listener { "\(address)" } else { nil }
        }
        return configuration.sharedAddresses(with: addresses, areDefault: !areReplaced)
    }
}

extension GatewayRoutes {
    /// Reads the routes of a configuration file for its own listeners, for tools.
    ///
    /// - Throws: `ConfigurationError`
    package init(of configuration: HoldfastConfiguration.Configuration) throws {
        let listeners = try [GatewayListener](configuration)
        let standard = GatewayConfiguration(routes: .empty).listeners
        let known = listeners.isEmpty ? standard : listeners
        self = try GatewayRoutes(all: configuration, ownPorts: configuration.ownPorts(with: known))
            .accepting(known.clientPorts)
    }
}

extension ClientRoutes {
    /// Reads the routes of a configuration file, for tools.
    ///
    /// - Throws: `ConfigurationError`
    package init(of configuration: HoldfastConfiguration.Configuration) throws {
        self.init(
            try GatewayRoutes(of: configuration),
            FixedRoutes(configuration.fixedRoutes),
            schemes: configuration.clientSchemes
        )
    }
}

extension HoldfastConfiguration.Configuration {
    /// Returns the ports on which a gateway listens: for clients, control and metrics.
    fileprivate func ownPorts(with listeners: [GatewayListener]) -> Set<UInt16> {
        let own =
            listeners.map(\.place.port)
            + [control.listen, metrics.listen].compactMap {
                $0.flatMap { try? ListenAddress($0) }?.port
            }
        return Set(own.compactMap { UInt16(exactly: $0) }).subtracting([0])
    }

    /// Returns a finding if the forward proxy would serve anyone who can connect.
    fileprivate func openProxy(on listeners: [GatewayListener]) -> ConfigurationError.Finding? {
        guard forwardProxy.isOn, forwardProxy.allow.isEmpty, clients.lists.allow.isEmpty,
            let open = listeners.first(where: {
                $0.place.path == nil && Self.isReachableFromOthers($0.place.description)
            })
        else { return nil }
        return finding(
            "forward-proxy.allow",
            "It is missing, and '\(open.place)' is reachable from other machines, whose programs could use the proxy. List the addresses of its clients, or listen on '127.0.0.1'."
        )
    }
}
