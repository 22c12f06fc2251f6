import HTTPCache
import Synchronization

/// The permits for responses that are compressed at the same time, on all event loops. A response
/// is compressed as slowly as its client reads, so clients share the permits: see ``ClientShare``.
final class CompressionPermits: Sendable {
    /// The maximum number of responses: 256. Each needs 268 KiB for zlib, so all of them need 67
    /// MiB.
    static let standardLimit = 256

    private let permits = Mutex(ClientPermits<RequestClient>())
    private let limit: Int

    init(limit: Int = CompressionPermits.standardLimit) { self.limit = limit }

    /// The number of responses that are being compressed.
    var count: Int { permits.withLock { $0.count } }

    /// Takes a permit.
    ///
    /// - Returns: `nil` if the client may not have another permit.
    func take(for client: RequestClient) -> Permit? {
        permits.withLock { $0.take(client.share, of: limit) } ? Permit(self, client) : nil
    }

    /// One permit, returned when the last reference to it is released.
    final class Permit: Sendable {
        private let permits: CompressionPermits
        private let client: RequestClient

        fileprivate init(_ permits: CompressionPermits, _ client: RequestClient) {
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
