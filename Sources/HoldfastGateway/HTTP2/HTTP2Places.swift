import Synchronization

/// The places for the requests of a connection of HTTP/2.
///
/// A client that resets a stream gets its place in the protocol back at once. The work for the
/// request may go on for a while, and keeps its place here: otherwise a client could begin more
/// work than it may have streams.
final class HTTP2Places: Sendable {
    private let limit: Int
    private let taken = Atomic(0)

    init(_ limit: Int) { self.limit = limit }

    /// - Returns: `nil` if all are taken.
    func take() -> Place? {
        if taken.add(1, ordering: .relaxed).newValue <= limit { return Place(self) }
        taken.subtract(1, ordering: .relaxed)
        return nil
    }

    /// One place. It is free again when nothing refers to it, on whatever thread that is.
    final class Place: Sendable {
        private let places: HTTP2Places

        fileprivate init(_ places: HTTP2Places) { self.places = places }

        deinit { places.taken.subtract(1, ordering: .relaxed) }
    }
}
