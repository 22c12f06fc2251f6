import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import Synchronization
import TestSupport

/// A store without bodies in memory, that reads them in chunks of 64 KiB as the store on disk does,
/// and counts the chunks.
final class ChunkedStore: ForwardingStore {
    let base: InMemoryResponseStore
    private let chunks = Atomic(0)

    init(_ store: InMemoryResponseStore) { base = store }

    /// The chunks that were read so far.
    var chunkCount: Int { chunks.load(ordering: .sequentiallyConsistent) }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        guard let body = try await base.openBody(of: response, range: range)?.whole else { return nil }
        return BodyStream(length: StatedLength(clamping: body.readableBytes)) {
            var rest = body
            return {
                let length = min(rest.readableBytes, 64 << 10)
                guard length > 0, let chunk = rest.readSlice(length: length) else { return nil }
                self.chunks.add(1, ordering: .sequentiallyConsistent)
                return chunk
            }
        }
    }

    func resident(_ key: StoreKey) -> [StoredResponse]? { nil }
}
