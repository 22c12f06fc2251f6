import HTTPCache
import Synchronization

/// A limited number of permits on all event loops, for what may last as long as a client wants: a
/// tunnel, or the compression of a response that the client reads slowly. Clients therefore share
/// the permits: see ``ClientShare``.
final class SharedPermits: Sendable {
    private let permits = Mutex(ClientPermits<RequestClient>())

    /// The number of permits that are taken.
    var count: Int { permits.withLock { $0.count } }

    /// Takes a permit.
    ///
    /// - Parameters:
    ///   - client: the client of the request; its permits are counted.
    ///   - most: the total number of permits.
    /// - Returns: `nil` if the client may not have another permit.
    func take(for client: RequestClient, of most: Int) -> Permit? {
        permits.withLock { $0.take(client.share, of: most) } ? Permit(self, client) : nil
    }

    /// One permit. It is returned when the last reference to it is released: for a tunnel, after
    /// both connections have closed.
    final class Permit: Sendable {
        private let permits: SharedPermits
        private let client: RequestClient

        fileprivate init(_ permits: SharedPermits, _ client: RequestClient) {
            self.permits = permits
            self.client = client
        }

        deinit { permits.permits.withLock { $0.leave(client.share) } }
    }
}

extension RequestClient {
    /// The client that shares permits with others; `nil` for no particular client.
    fileprivate var share: RequestClient? { self == .none ? nil : self }
}
