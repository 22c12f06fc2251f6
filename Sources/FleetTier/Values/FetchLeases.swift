package import NIOCore

/// Leases on cache keys, so that one node of a fleet asks the origin for a response and the others
/// wait for it.
///
/// A lease only saves requests; correctness does not depend on it. Two nodes may lead after a
/// failover, or after a pause of one of them. The rules of ``FleetValues`` apply to all calls.
package protocol FetchLeases: Sendable {
    /// Takes a lease if no node holds it.
    ///
    /// - Returns: ``LeaseAnswer/led`` also if the caller already holds it; its expiry then stays
    ///   the same.
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

    /// Extends a lease from now, if it is still held with this token.
    ///
    /// - Returns: whether it is held.
    func renew(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool

    /// Releases a lease, if it is still held with this token.
    ///
    /// - Returns: whether it was held.
    func release(_ lease: FetchLease, within limit: Duration) async throws(FleetLogError) -> Bool

    /// Tells all nodes, for a time, not to wait for each other, because the response cannot be
    /// shared. This replaces any lease.
    func pass(_ lease: ValueName, for duration: Duration, within limit: Duration) async throws(FleetLogError)
}

/// A lease that one node holds.
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
    /// Another node holds it.
    case held
    /// No node waits: see ``FetchLeases/pass(_:for:within:)``.
    case pass
}

/// A value, and the state of its lease.
package struct LeaseReading: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// No node holds it.
        case free
        /// A node holds it.
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
