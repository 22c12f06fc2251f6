import Synchronization

/// The permits for requests on an HTTP/2 connection.
///
/// The protocol lets a client reset a stream and immediately open another. The work for the first
/// request may continue for a while, and keeps its permit here. Otherwise a client could start more
/// work than its stream limit allows.
final class HTTP2Permits: Sendable {
    private let limit: Int
    private let taken = Atomic(0)
    private let total: HTTP2RequestCount

    init(_ limit: Int, of total: HTTP2RequestCount) {
        self.limit = limit
        self.total = total
    }

    /// Whether this connection has reached its own limit.
    var areTaken: Bool { taken.load(ordering: .relaxed) >= limit }

    /// Takes a permit.
    ///
    /// - Parameter most: the maximum number of permits of all connections combined.
    /// - Returns: `nil` if all permits are taken.
    func take(ofAll most: Int) -> Permit? {
        let count = taken.add(1, ordering: .relaxed).newValue
        if count <= limit, total.take(isFirst: count == 1, most) { return Permit(self) }
        taken.subtract(1, ordering: .relaxed)
        return nil
    }

    /// One permit. It is returned when the last reference to it is released, on any thread.
    final class Permit: Sendable {
        private let permits: HTTP2Permits

        fileprivate init(_ permits: HTTP2Permits) { self.permits = permits }

        deinit {
            permits.taken.subtract(1, ordering: .relaxed)
            permits.total.release()
        }
    }
}

/// Counts the requests in progress on all HTTP/2 connections. They are limited to the number of
/// requests that HTTP/1 connections could have, because each request needs memory.
///
/// The last quarter is reserved for connections without a request in progress. So even if a few
/// connections have many requests, every other connection can have one request at a time, as in
/// HTTP/1.
final class HTTP2RequestCount: Sendable {
    private let taken = Atomic(0)

    fileprivate func take(isFirst: Bool, _ most: Int) -> Bool {
        if taken.add(1, ordering: .relaxed).newValue <= (isFirst ? most : most - most / 4) { return true }
        release()
        return false
    }

    fileprivate func release() { taken.subtract(1, ordering: .relaxed) }
}
