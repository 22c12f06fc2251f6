import Synchronization

/// The permits for the requests of a connection of HTTP/2.
///
/// A client that resets a stream gets its permit in the protocol back at once. The work for the
/// request may continue for a while, and keeps its permit here: otherwise a client could begin more
/// work than it may have streams.
final class HTTP2Permits: Sendable {
    private let limit: Int
    private let taken = Atomic(0)
    private let total: HTTP2RequestCount

    init(_ limit: Int, of total: HTTP2RequestCount) {
        self.limit = limit
        self.total = total
    }

    /// Whether the connection itself has too many.
    var areTaken: Bool { taken.load(ordering: .relaxed) >= limit }

    /// - Parameter most: the permits of all connections together.
    /// - Returns: `nil` if all are taken.
    func take(ofAll most: Int) -> Permit? {
        let count = taken.add(1, ordering: .relaxed).newValue
        if count <= limit, total.take(isFirst: count == 1, most) { return Permit(self) }
        taken.subtract(1, ordering: .relaxed)
        return nil
    }

    /// One permit. It is free again when nothing refers to it, on whatever thread that is.
    final class Permit: Sendable {
        private let permits: HTTP2Permits

        fileprivate init(_ permits: HTTP2Permits) { self.permits = permits }

        deinit {
            permits.taken.subtract(1, ordering: .relaxed)
            permits.total.release()
        }
    }
}

/// The requests under way on all connections of HTTP/2: in all no more than connections of HTTP/1
/// could have, because each needs memory.
///
/// The last quarter is for connections without a request under way. So a few connections with many
/// requests leave others one at a time, as in HTTP/1.
final class HTTP2RequestCount: Sendable {
    private let taken = Atomic(0)

    fileprivate func take(isFirst: Bool, _ most: Int) -> Bool {
        if taken.add(1, ordering: .relaxed).newValue <= (isFirst ? most : most - most / 4) { return true }
        release()
        return false
    }

    fileprivate func release() { taken.subtract(1, ordering: .relaxed) }
}
