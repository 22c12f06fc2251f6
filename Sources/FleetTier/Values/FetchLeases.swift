package import NIOCore

/// Leases on cache keys, so that one node of a fleet fetches a response from the origin while the
/// other nodes wait for it.
///
/// A lease only saves requests; correctness does not depend on it. Two nodes may hold the same
/// lease at the same time after a failover, or after one of them was paused. The rules of
/// ``FleetValues`` apply to all calls.
package protocol FetchLeases: Sendable {
    /// Takes a lease if no node holds it.
    ///
    /// - Returns: ``LeaseAnswer/led`` even if the caller already holds the lease. Its expiry then
    ///   does not change.
    func lead(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LeaseAnswer

    /// Returns the value and the lease of one cache key in one round trip, for a waiting node.
    func readValue(
        at value: ValueName,
        lease: ValueName,
        within limit: Duration
    ) async throws(FleetLogError) -> LeaseReading

    /// Extends a lease from the current time, but only if it is still held with its own
    /// ``FetchLease/token``.
    ///
    /// - Returns: whether the lease is held.
    func renew(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool

    /// Releases a lease, but only if it is still held with its own ``FetchLease/token``.
    ///
    /// - Returns: whether the lease was held.
    func release(_ lease: FetchLease, within limit: Duration) async throws(FleetLogError) -> Bool

    /// Tells all nodes not to wait for each other during `duration`, because the response cannot be
    /// shared. This replaces any lease.
    func pass(_ lease: ValueName, for duration: Duration, within limit: Duration) async throws(FleetLogError)
}

/// A lease held by one node.
package struct FetchLease: Sendable, Hashable {
    package var name: ValueName
    package var token: LeaseToken

    package init(name: ValueName, token: LeaseToken) {
        self.name = name
        self.token = token
    }
}

/// The reply to a request for a lease.
package enum LeaseAnswer: Sendable, Hashable {
    /// The caller holds the lease.
    case led
    /// Another node holds the lease.
    case held
    /// No node waits: see ``FetchLeases/pass(_:for:within:)``.
    case pass
}

/// A value, and the state of its lease.
package struct LeaseReading: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// No node holds the lease.
        case free
        /// A node holds the lease.
        case held
        /// No node waits: see ``FetchLeases/pass(_:for:within:)``.
        case pass
    }

    package var value: ByteBuffer?
    package var lease: State

    package init(value: ByteBuffer?, lease: State) {
        self.value = value
        self.lease = lease
    }
}
