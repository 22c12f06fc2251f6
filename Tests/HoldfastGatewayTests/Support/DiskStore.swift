import Dispatch
import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A store that has nothing in memory, responds on the calling thread, and can block that thread.
final class DiskStore: ForwardingStore {
    struct Failure: Error {}

    let base: InMemoryResponseStore
    private let notes = Mutex<[(operation: String, isOnLoop: Bool)]>([])
    private let isFailing = Atomic(false)
    private let isCached: Bool?
    /// Lookups wait while this is locked.
    private let standing = DispatchGroup()

    /// - Parameter isCached: whether lookups that do not wait find responses; `nil` if the store
    ///   has no such lookups.
    init(_ store: InMemoryResponseStore, isCached: Bool? = nil) {
        base = store
        self.isCached = isCached
    }

    /// The calls in their order.
    var operations: [String] { notes.withLock { $0.map(\.operation) } }
    /// The calls that blocked an event loop.
    var operationsOnLoops: [String] { notes.withLock { $0.filter(\.isOnLoop).map(\.operation) } }

    func forgetOperations() { notes.withLock { $0 = [] } }
    func fail() { isFailing.store(true, ordering: .sequentiallyConsistent) }

    /// Lookups wait until the body has ended.
    func whileStanding<Value>(_ body: () async throws -> Value) async throws -> Value {
        standing.enter()
        defer { standing.leave() }
        return try await body()
    }

    private func note(_ operation: String) {
        let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
        notes.withLock { $0.append((operation, isOnLoop)) }
    }

    func resident(_ key: StoreKey) -> [StoredResponse]? { nil }

    var blockingLookup: (@Sendable (StoreKey) throws -> [StoredResponse])? { { try self.lookupInPlace($0) } }

    var immediateLookup: (@Sendable (StoreKey) -> [StoredResponse]?)? {
        guard let isCached else { return nil }
        return { key in
            self.notes.withLock { $0.append(("immediateLookup", false)) }
            return isCached ? self.base.resident(key) ?? [] : nil
        }
    }

    private func lookupInPlace(_ key: StoreKey) throws -> [StoredResponse] {
        note("lookupInPlace")
        standing.wait()
        if isFailing.load(ordering: .sequentiallyConsistent) { throw Failure() }
        return base.resident(key) ?? []
    }

    func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        note("lookup")
        if isFailing.load(ordering: .sequentiallyConsistent) { throw Failure() }
        return base.resident(key) ?? []
    }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        note("openBody")
        return try await base.openBody(of: response, range: range)
    }
}
