import HTTPCache
import Synchronization

/// The places for tunnels, of all event loops together. A tunnel may last for as long as its client
/// likes, so clients share the places: see ``ClientShare``.
final class TunnelPlaces: Sendable {
    private let places = Mutex(SharedPlaces<RequestClient>())

    /// The tunnels that are open, or being opened or closed.
    var count: Int { places.withLock { $0.count } }

    /// - Parameters:
    ///   - client: the client of the request; its places are counted.
    ///   - most: the places that there are.
    /// - Returns: `nil` if the client may have no further one.
    func take(for client: RequestClient, of most: Int) -> Place? {
        places.withLock { $0.take(client.share, of: most) } ? Place(self, client) : nil
    }

    /// One place. It is free again when nothing refers to it: when both connections are closed.
    final class Place: Sendable {
        private let places: TunnelPlaces
        private let client: RequestClient

        fileprivate init(_ places: TunnelPlaces, _ client: RequestClient) {
            self.places = places
            self.client = client
        }

        deinit { places.places.withLock { $0.leave(client.share) } }
    }
}

extension RequestClient {
    /// The client that shares places with others; `nil` for none in particular.
    fileprivate var share: RequestClient? { self == .none ? nil : self }
}
