package import HTTPCache
package import HTTPCacheOperations
package import HoldfastConfiguration
package import Logging
package import OfflineStore

/// Connects a client to its fleet.
///
/// The module `HoldfastFleet` provides one. A client without a fleet does not compile the Redis
/// client:
///
/// ```swift
/// import HoldfastConfiguration
/// import HoldfastFleet
///
/// let file = try Configuration(contentsOf: "holdfast.yaml")
/// let client = try await CachingClient.open(file, fleet: .redis)
/// ```
public struct FleetConnector: Sendable {
    /// Makes a membership, without connecting; returns `nil` if the configuration shares nothing.
    package typealias Join =
        @Sendable (
            _ file: HoldfastConfiguration.Configuration,
            _ store: CacheManager,
            _ logger: Logger
        ) throws -> (any FleetMembership)?

    package let join: Join

    package init(join: @escaping Join) { self.join = join }
}

/// A store's membership in a fleet.
package protocol FleetMembership: SharingOperations {
    /// The responses of other nodes; `nil` if only invalidations are shared.
    var fleetResponses: (any FleetResponses)? { get }

    /// Controls when, and for how long, fresh responses may be served without validation.
    var contact: ContactLease { get }

    /// Starts recording the store's purges for the other nodes. Call it before anything can purge.
    /// It needs no server. If the store cannot be written, ``run()`` tries again.
    func join() async

    /// Shares until the task is cancelled. Call it once.
    func run() async

    /// Ends the membership cleanly. Call it before the store is closed.
    func end() async
}
