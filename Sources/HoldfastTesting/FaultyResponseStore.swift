public import HTTPCache
public import HTTPCacheSemantics
import NIOCore
import Synchronization

/// A store that fails on demand, on top of one that works.
public final class FaultyResponseStore: ResponseStore {
    /// What can fail.
    public enum Operation: String, Sendable, Hashable, CaseIterable {
        case lookup, openBody, beginWrite, append, finish, freshen, invalidate
    }

    /// What a failing operation throws.
    public struct Failure: Error, Sendable, Hashable {
        /// The operation that failed.
        public let operation: Operation
    }

    private let base: any ResponseStore
    private let failing = Mutex<Set<Operation>>([])

    /// Works like `base` until it is told to fail.
    public init(_ base: any ResponseStore) { self.base = base }

    /// From now on exactly these operations fail.
    public func fail(_ operations: Set<Operation>) { failing.withLock { $0 = operations } }

    fileprivate func check(_ operation: Operation) throws {
        if failing.withLock({ $0.contains(operation) }) { throw Failure(operation: operation) }
    }

    /// See `ResponseStore`.
    public var invalidationSequence: InvalidationSequence { base.invalidationSequence }

    /// Nothing, so that every lookup can fail.
    public func resident(_ key: CacheKey) -> [StoredResponse]? { nil }

    /// See `ResponseStore`.
    public func lookup(_ key: CacheKey) async throws -> [StoredResponse] {
        try check(.lookup)
        return try await base.lookup(key)
    }

    /// See `ResponseStore`.
    public func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        try check(.openBody)
        return try await base.openBody(of: response, range: range)
    }

    /// See `ResponseStore`.
    public func beginWrite(
        _ draft: ResponseDraft,
        fence: InvalidationSequence
    ) async throws -> (any ResponseWriter)? {
        try check(.beginWrite)
        guard let writer = try await base.beginWrite(draft, fence: fence) else { return nil }
        return Writer(store: self, base: writer)
    }

    /// See `ResponseStore`.
    public func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fence: InvalidationSequence
    ) async throws -> StoredResponse? {
        try check(.freshen)
        return try await base.freshen(response, with: draft, fence: fence)
    }

    /// See `ResponseStore`.
    public var changes: StoreChangeFeed { base.changes }

    /// See `ResponseStore`.
    public func invalidate(
        _ scope: InvalidationScope,
        keepingForOffline: Bool,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        try check(.invalidate)
        return try await base.invalidate(scope, keepingForOffline: keepingForOffline, at: now)
    }

    private final class Writer: ResponseWriter {
        private let store: FaultyResponseStore
        private let base: any ResponseWriter

        init(store: FaultyResponseStore, base: any ResponseWriter) {
            self.store = store
            self.base = base
        }

        func append(_ chunk: ByteBuffer) async throws {
            try store.check(.append)
            try await base.append(chunk)
        }

        var readableLength: Int64 { get async { await base.readableLength } }

        func readBack(from offset: Int64) async throws -> ByteBuffer { try await base.readBack(from: offset) }

        func finish() async throws -> StoredResponse? {
            try store.check(.finish)
            return try await base.finish()
        }

        func abandon() async { await base.abandon() }
    }
}
