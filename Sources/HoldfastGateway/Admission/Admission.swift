import NIOCore
import Synchronization

/// Decides which connections and requests the gateway serves, for all clients. Each connection asks
/// once when it opens, and once per request through its ``ClientAdmission``. docs/listeners.md has
/// the order of the checks.
final class Admission: Sendable {
    let connections = ConnectionRegistry()
    let http2Requests = HTTP2RequestCount()
    let tunnels = SharedPermits()
    /// For responses that are being compressed.
    let compressions = SharedPermits()
    let guards = ClientGuards()
    /// `nil` if no client may purge.
    let purging: (any ClientPurging)?
    private let checks = Mutex<[any RequestCheck]>([])

    init(purging: (any ClientPurging)? = nil) { self.purging = purging }

    /// The checks of each request before the hot table, in order. The first one that rejects the
    /// request decides.
    ///
    /// A connection takes them over when the engine's settings change, so set them before the
    /// settings' version.
    var requestChecks: [any RequestCheck] {
        get { checks.withLock { $0 } }
        set { checks.withLock { $0 = newValue } }
    }
}

// MARK: Connections

extension Admission {
    /// The decision about a new connection.
    enum ConnectionDecision: Equatable {
        /// Serve the peer.
        case serve
        /// Serve the client that the peer names in its PROXY protocol header. Call
        /// ``Admission/admit(_:named:_:)`` when it has arrived.
        case awaitHeader
        /// Close the connection, because the peer may not name clients.
        case untrustedPeer
        /// Respond that this limit is exceeded.
        case exceeds(ConnectionRegistry.Excess)
    }

    /// Decides about a new connection. The connection counts until it is closed.
    ///
    /// - Parameters:
    ///   - peer: the peer's IP address, or the shared name of all clients without one.
    ///   - isProxied: whether a PROXY protocol header must precede everything else.
    func admit(
        _ channel: any Channel,
        from peer: String?,
        isProxied: Bool,
        _ configuration: GatewayConfiguration
    ) -> ConnectionDecision {
        // First, so that a stranger cannot use up the connections of the proxies.
        if isProxied, !configuration.isTrusted(peer) { return .untrustedPeer }
        if let excess = connections.admit(channel, of: peer, configuration) { return .exceeds(excess) }
        return isProxied ? .awaitHeader : .serve
    }

    /// Decides about a connection whose PROXY protocol header has arrived.
    ///
    /// - Parameter client: the client that the header names, or else the proxy.
    func admit(
        _ channel: any Channel,
        named client: ClientAddress,
        _ configuration: GatewayConfiguration
    ) -> ConnectionDecision {
        connections.move(channel, to: client.text, configuration).map { .exceeds($0) } ?? .serve
    }
}

// MARK: PURGE

extension Admission {
    /// Returns the name of a client that may purge: its address is in `clients.purgers`, and it has
    /// a token. Returns `nil` for every other client.
    ///
    /// - Parameter credentials: the values of the request's `Authorization` fields.
    func purger(_ client: GatewayClient, presenting credentials: [String], _ configuration: GatewayConfiguration)
        -> String?
    {
        guard let purging, let address = client.address, client.mayPurge(by: configuration) else { return nil }
        return purging.client(presenting: credentials, from: address)
    }
}
