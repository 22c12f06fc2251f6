package import NIOCore

/// Leases on cache keys, so that one node of a fleet asks the origin for a response and the others
/// wait for it.
///
/// A lease saves requests, and nothing rests on it: two nodes may lead after a failover, or after
/// one was paused. The rules for calls are those of ``SharedValues``.
package protocol FillLeases: Sendable {
    /// Takes a lease, if no node has it.
    ///
    /// - Returns: ``LeaseAnswer/led`` also to the one who has it already. Its time stays then.
    func lead(
        _ lease: FillLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(SharedLogError) -> LeaseAnswer

    /// The value and the lease of one cache key, in one round trip: for a node that waits.
    func look(
        at value: ValueName,
        lease: ValueName,
        within limit: Duration
    ) async throws(SharedLogError) -> LeaseLook

    /// Gives a lease a new time from now on, if it is still held with this token.
    ///
    /// - Returns: whether it is.
    func renew(
        _ lease: FillLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(SharedLogError) -> Bool

    /// Gives a lease back, if it is still held with this token.
    ///
    /// - Returns: whether it was.
    func release(_ lease: FillLease, within limit: Duration) async throws(SharedLogError) -> Bool

    /// Tells all nodes for a time not to wait for each other, because the response is not for
    /// others. It replaces any lease.
    func pass(_ lease: ValueName, for duration: Duration, within limit: Duration) async throws(SharedLogError)
}

/// A lease in the hands of one node.
package struct FillLease: Sendable, Hashable {
    package var name: ValueName
    package var token: LeaseToken

    package init(name: ValueName, token: LeaseToken) {
        self.name = name
        self.token = token
    }
}

/// The reply to one who wants to lead.
package enum LeaseAnswer: Sendable, Hashable {
    /// The caller has the lease.
    case led
    /// Another node has it.
    case held
    /// No node waits: see ``FillLeases/pass(_:for:within:)``.
    case pass
}

/// A value, and the state of the lease beside it.
package struct LeaseLook: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// No node has it.
        case free
        /// Some node has it.
        case held
        /// No node waits: see ``FillLeases/pass(_:for:within:)``.
        case pass
    }

    package var value: ByteBuffer?
    package var lease: State

    package init(value: ByteBuffer?, lease: State) {
        self.value = value
        self.lease = lease
    }
}
