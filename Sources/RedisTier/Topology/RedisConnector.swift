package import NIOCore
import Synchronization

/// Opens connections to the primary behind an address.
package final class RedisConnector: Sendable {
    let settings: RedisConnectionSettings
    private let group: any EventLoopGroup
    private let findPrimary: @Sendable () async throws(RedisTierError) -> RedisEndpoint
    private let canMove: Bool
    private let last = Mutex<RedisEndpoint?>(nil)
    /// The cluster's directory of slots; `nil` for other topologies.
    let cluster: ClusterDirectory?

    /// - Parameters:
    ///   - settings: the settings for connections to servers. The address replaces their endpoint
    ///     and user.
    ///   - password: the password of the address's user; `nil` leaves the connection
    ///     unauthenticated.
    ///   - sentinelCredentials: the credentials for the sentinels; `nil` if they need none.
    /// - Throws: ``RedisTierError/Code/rejected`` if the address does not match the settings.
    package convenience init(
        _ address: RedisAddress,
        settings: RedisConnectionSettings,
        password: String?,
        sentinelCredentials: RedisCredentials? = nil,
        on group: any EventLoopGroup
    ) throws(RedisTierError) {
        guard address.usesTLS == (settings.tls != nil) else {
            throw RedisTierError(.rejected, "TLS requires an address with 'rediss', and such an address requires TLS.")
        }
        guard address.user == nil || password != nil else {
            throw RedisTierError(
                .rejected,
                "The address in 'fleet.url' has a user but no password. Set 'fleet.password', or remove the user."
            )
        }
        var settings = settings
        settings.credentials = password.map { RedisCredentials(user: address.user, password: $0) }
        switch address.topology {
        case .server(let endpoint):
            self.init(settings: settings, on: group, canMove: false) { () throws(RedisTierError) in endpoint }
        case .sentinels(let endpoints, let primary):
            var sentinelSettings = settings
            sentinelSettings.credentials = sentinelCredentials
            sentinelSettings.onPush = { _ in }
            let sentinels = SentinelGroup(
                endpoints: endpoints,
                primary: primary,
                settings: sentinelSettings,
                group: group
            )
            self.init(settings: settings, on: group, canMove: true) { () async throws(RedisTierError) in
                try await sentinels.findPrimary()
            }
        case .cluster(let seeds):
            var nodeSettings = settings
            nodeSettings.onPush = { _ in }
            let directory = ClusterDirectory(seeds: seeds, settings: nodeSettings, on: group)
            self.init(settings: settings, on: group, canMove: true, cluster: directory) {
                () throws(RedisTierError) in
                throw RedisTierError(.unreachable, "A cluster has a different primary for each slot.")
            }
        }
    }

    /// Replaces the password for connections that are opened from now on. Has no effect if the
    /// connector has none.
    package func replacePassword(with password: String) {
        settings.credentials?.replacePassword(with: password)
    }

    /// Replaces the certificates and the key for connections that are opened from now on. Has no
    /// effect if the connector uses no TLS.
    package func replaceTLS(with tls: RedisTLS) { settings.tls?.replaceContext(with: tls) }

    /// - Parameters:
    ///   - canMove: whether the primary may move to another endpoint.
    ///   - findPrimary: returns the current endpoint.
    init(
        settings: RedisConnectionSettings,
        on group: any EventLoopGroup,
        canMove: Bool,
        cluster: ClusterDirectory? = nil,
        findPrimary: @escaping @Sendable () async throws(RedisTierError) -> RedisEndpoint
    ) {
        self.settings = settings
        self.group = group
        self.canMove = canMove
        self.cluster = cluster
        self.findPrimary = findPrimary
    }

    /// Returns a connector for one slot. In a cluster, it follows the primary that owns the slot.
    func following(_ slot: HashSlot) -> RedisConnector {
        guard let cluster else { return self }
        return RedisConnector(settings: settings, on: group, canMove: true, cluster: cluster) {
            () async throws(RedisTierError) in
            guard let owner = try await cluster.refresh().owner(of: slot) else {
                throw RedisTierError(.unreachable, "No node of the cluster owns slot \(slot).")
            }
            return owner
        }
    }

    /// Returns a connector for one node of a cluster.
    func at(_ endpoint: RedisEndpoint) -> RedisConnector {
        RedisConnector(settings: settings, on: group, canMove: false, cluster: cluster) {
            () throws(RedisTierError) in endpoint
        }
    }

    /// Connects to the primary.
    ///
    /// - Throws: a connection error, or ``RedisTierError/Code/unreachable`` if the server is a
    ///   replica.
    package func connect() async throws(RedisTierError) -> RedisConnection { try await open().connection }

    /// Connects to the primary, and also returns its endpoint and greeting.
    ///
    /// - Throws: see ``connect()``.
    func open() async throws(RedisTierError) -> Opened {
        var settings = settings
        let endpoint = try await findPrimary()
        settings.endpoint = endpoint
        let (connection, greeting) = try await RedisConnection.connect(settings, on: group.next())
        do throws(RedisTierError) {
            guard try await isPrimary(connection, greeting, within: settings.connectTimeout) else {
                throw RedisTierError(
                    .unreachable,
                    "The server '\(endpoint)' is a replica. Entries are written only to a primary."
                )
            }
        } catch {
            connection.close()
            throw error
        }
        last.withLock { $0 = endpoint }
        return Opened(connection: connection, endpoint: endpoint, greeting: greeting)
    }

    /// A connection and the server that it leads to.
    struct Opened: Sendable {
        let connection: RedisConnection
        let endpoint: RedisEndpoint
        let greeting: ServerGreeting
    }

    private func isPrimary(
        _ connection: RedisConnection,
        _ greeting: ServerGreeting,
        within time: TimeAmount
    ) async throws(RedisTierError) -> Bool {
        if let role = greeting.role { return role == "master" }
        guard case .array(let parts) = try await connection.execute(RedisCommand("ROLE"), within: time) else {
            return false
        }
        return parts.first?.text == "master"
    }

    /// Returns whether the primary is no longer at the endpoint of the last connection.
    package func hasMoved() async -> Bool {
        guard canMove, let last = last.withLock({ $0 }), let present = try? await findPrimary() else { return false }
        return present != last
    }

    /// Polls until the task is canceled, and calls `onMove` whenever the primary has moved.
    /// Polling is needed because a server that is cut off from its sentinels does not learn that it
    /// was replaced.
    func watch(every pause: () async throws -> Void, onMove: () -> Void) async {
        while (try? await pause()) != nil {
            if await hasMoved() { onMove() }
        }
    }
}
