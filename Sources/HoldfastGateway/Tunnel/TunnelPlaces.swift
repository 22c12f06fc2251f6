import Synchronization

/// The places for tunnels, of all event loops together.
final class TunnelPlaces: Sendable {
    private let taken = Atomic(0)

    /// The tunnels that are open, or being opened or closed.
    var count: Int { taken.load(ordering: .relaxed) }

    /// - Parameter most: the places that there are.
    /// - Returns: `nil` if all are taken.
    func take(of most: Int) -> Place? {
        let count = taken.add(1, ordering: .relaxed).newValue
        if count <= most { return Place(self) }
        taken.subtract(1, ordering: .relaxed)
        return nil
    }

    /// One place. It is free again when nothing refers to it: when both connections are closed.
    final class Place: Sendable {
        private let places: TunnelPlaces

        fileprivate init(_ places: TunnelPlaces) { self.places = places }

        deinit { places.taken.subtract(1, ordering: .relaxed) }
    }
}
