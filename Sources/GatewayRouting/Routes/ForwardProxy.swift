package import HTTPCacheSemantics
package import HTTPWire

/// The origins to which requests that name their origin are forwarded: a forward proxy.
///
/// A request names its origin in the absolute-form (`GET http://a.example/b`), or in its path below
/// ``prefix`` (`GET /proxy/https/a.example/b`). Both become the same request, so both find the same
/// stored responses.
///
/// No request reaches a host that the configuration does not list. docs/decisions/0113
package struct ForwardProxy: Sendable, Hashable {
    /// Why a request is not forwarded.
    package enum Refusal: Sendable, Hashable {
        /// The path below ``prefix`` names no origin.
        case noHost
        /// No entry of `forward-proxy.hosts` matches the host.
        case host(String)
        /// The port is not 80, 443 or one of `forward-proxy.ports`.
        case port(UInt16, of: String)
    }

    /// The hosts that requests may name.
    private enum Hosts: Hashable {
        /// Any host: the proxy of a command.
        case all
        /// These hosts; whether http is replaced with https.
        case listed([HostPattern.Name: Bool])
    }

    /// The ports that no list needs.
    private static let standardPorts: Set<UInt16> = [80, 443]

    private let hosts: Hosts
    private let ports: Set<UInt16>
    /// The path below which requests name their origin; `nil` if they cannot.
    private let prefix: String?
    /// The addresses that the hosts may have.
    package var destinations: DestinationPolicy

    /// The proxy of a command, which leads to any host. Its ports and addresses are checked
    /// elsewhere.
    static let ofCommand = ForwardProxy(
        hosts: .all,
        ports: [],
        prefix: nil,
        destinations: DestinationPolicy(allowsPrivate: false)
    )

    private init(hosts: Hosts, ports: Set<UInt16>, prefix: String?, destinations: DestinationPolicy) {
        (self.hosts, self.ports, self.prefix, self.destinations) = (hosts, ports, prefix, destinations)
    }

    /// - Parameters:
    ///   - hosts: each host (`a.example`, or `*.example` for one more label), and whether requests
    ///     for it with http are sent with https.
    ///   - ports: ports in addition to 80 and 443.
    ///   - prefix: begins with a slash, and does not end with one.
    init(
        hosts: [HostPattern.Name: Bool],
        ports: Set<UInt16>,
        prefix: String?,
        destinations: DestinationPolicy
    ) {
        self.init(hosts: .listed(hosts), ports: ports, prefix: prefix, destinations: destinations)
    }

    /// Whether every request is for the proxy, and none for a gateway's routes.
    package var isOfCommand: Bool { hosts == .all }

    /// Returns a request as the proxy forwards it: its scheme, host and target are those of the
    /// origin that it names. Returns `nil` if it names none below ``prefix`` or in the
    /// absolute-form.
    ///
    /// - Parameter isNamed: whether a route names the host of a request in the absolute-form. Such
    ///   a request is the route's.
    package func forwarded(_ request: GatewayRequest, unless isNamed: (RequestedHost) -> Bool) -> GatewayRequest? {
        if isOfCommand { return request }
        if let named = request.namingOrigin(below: prefix) { return upgraded(named) }
        guard request.scheme != nil, let host = request.authority, !isNamed(host) else { return nil }
        return upgraded(request)
    }

    private func upgraded(_ request: GatewayRequest) -> GatewayRequest {
        // Only the standard port of http has a counterpart with https.
        guard request.scheme == .http, let host = request.authority, host.port ?? 80 == 80, upgrades(host.name) else {
            return request
        }
        var result = request
        result.scheme = .https
        result.authority = host.with(port: nil)
        if result.base == nil { result.base = GatewayRequest.Base(scheme: .http, authority: result.authority) }
        return result
    }

    private func upgrades(_ host: String) -> Bool {
        guard case .listed(let hosts) = hosts else { return false }
        return hosts.matching(host) == true
    }

    /// Returns why a request is refused; `nil` if it is forwarded.
    ///
    /// - Parameter request: see ``forwarded(_:unless:)``.
    package func refusal(of request: GatewayRequest) -> Refusal? {
        guard let host = request.authority, let scheme = request.scheme else { return .noHost }
        return refusal(host.name, host.port ?? scheme.standardPort)
    }

    private func refusal(_ host: String, _ port: UInt16) -> Refusal? {
        guard case .listed(let hosts) = hosts else { return nil }
        guard hosts.matching(host) != nil else { return .host(host) }
        return Self.standardPorts.contains(port) || ports.contains(port) ? nil : .port(port, of: host)
    }

    /// Whether requests may have a target. None has one that is replaced with https.
    package func leads(to target: TargetURI) -> Bool {
        serves(target) && !(target.scheme == "http" && target.port == 80 && upgrades(target.host))
    }

    /// Whether a client may request a URL.
    package func serves(_ url: TargetURI) -> Bool { refusal(url.host, url.port) == nil }

    /// Whether a host is listed only by a pattern, so that clients choose how many there are.
    package func isChosenByClients(_ host: String) -> Bool {
        guard case .listed(let hosts) = hosts else { return false }
        return hosts[.exact(host)] == nil && hosts.matching(host) != nil
    }

    /// Whether some host is listed that a route may match.
    func overlaps(_ pattern: HostPattern) -> Bool {
        guard case .listed(let hosts) = hosts else { return false }
        return hosts.keys.contains { $0.overlaps(pattern.name) }
    }
}

extension [HostPattern.Name: Bool] {
    /// Returns the value of the entry that matches a host, of an exact one first.
    fileprivate func matching(_ host: String) -> Bool? {
        if let exact = self[.exact(host)] { return exact }
        return RouteTable.parent(of: host).flatMap { self[.label(before: String($0))] }
    }
}

extension HostPattern.Name {
    /// Whether some host matches both names.
    fileprivate func overlaps(_ other: HostPattern.Name) -> Bool {
        switch (self, other) {
        case (.any, _), (_, .any): true
        case (.exact(let one), .exact(let other)), (.label(let one), .label(let other)): one == other
        case (.exact(let host), .label(let parent)), (.label(let parent), .exact(let host)):
            host.hasSuffix("." + parent) && !host.dropLast(parent.utf8.count + 1).contains(".")
        }
    }
}
