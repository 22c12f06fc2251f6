import HTTPCache
import Synchronization

/// The permits for tunnels, of all event loops together. A tunnel may last for as long as its
/// client likes, so clients share the permits: see ``ClientShare``.
final class TunnelPermits: Sendable {
    private let permits = Mutex(ClientPermits<RequestClient>())

    /// The tunnels that are open, or being opened or closed.
    var count: Int { permits.withLock { $0.count } }

    /// - Parameters:
    ///   - client: the client of the request; its permits are counted.
    ///   - most: the permits that there are.
    /// - Returns: `nil` if the client may have no further one.
    func take(for client: RequestClient, of most: Int) -> Permit? {
        permits.withLock { $0.take(client.share, of: most) } ? Permit(self, client) : nil
    }

    /// One permit. It is free again when nothing refers to it: when both connections are closed.
    final class Permit: Sendable {
        private let permits: TunnelPermits
        private let client: RequestClient

        fileprivate init(_ permits: TunnelPermits, _ client: RequestClient) {
            self.permits = permits
            self.client = client
        }

        deinit { permits.permits.withLock { $0.leave(client.share) } }
    }
}

extension RequestClient {
    /// The client that shares permits with others; `nil` for none in particular.
    fileprivate var share: RequestClient? { self == .none ? nil : self }
}
