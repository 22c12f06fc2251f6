public import HTTPCache
public import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization

/// A store without a disk, by the same contract: for tests of what stands on a store.
public final class InMemoryResponseStore: ResponseStore {
    fileprivate struct State {
        var responses: [CacheKey: [StoredResponse]] = [:]
        var bodies: [Int64: ByteBuffer] = [:]
        var tags: [Int64: [String]] = [:]
        var invalidations: [(number: Int64, scope: InvalidationScope)] = []
        var nextID: Int64 = 1
    }

    private let state = Mutex(State())

    /// See `ResponseStore`.
    public let changes = StoreChangeFeed()

    /// An empty store.
    public init() {}

    /// See `ResponseStore`.
    public var invalidationSequence: InvalidationSequence {
        InvalidationSequence(state.withLock { $0.invalidations.last?.number ?? 0 })
    }

    /// See `ResponseStore`. Everything is in memory.
    public func resident(_ key: CacheKey) -> [StoredResponse]? {
        state.withLock { $0.responses[key] }
    }

    /// See `ResponseStore`.
    public func lookup(_ key: CacheKey) async throws -> [StoredResponse] {
        state.withLock { $0.responses[key] ?? [] }
    }

    /// Everything that is stored, in no particular order.
    public var all: [StoredResponse] { state.withLock { $0.responses.values.flatMap { $0 } } }

    /// See `ResponseStore`.
    public func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        guard let body = state.withLock({ $0.bodies[response.bodyID] }) else { return nil }
        guard let range else { return BodyStream(body) }
        return body.getSlice(at: body.readerIndex + Int(range.lowerBound), length: range.count).map { BodyStream($0) }
    }

    /// See `ResponseStore`.
    public func beginWrite(
        _ draft: ResponseDraft,
        fence: InvalidationSequence
    ) async throws -> (any ResponseWriter)? {
        Writer(store: self, draft: draft, fence: fence)
    }

    /// See `ResponseStore`.
    public func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fence: InvalidationSequence
    ) async throws -> StoredResponse? {
        let freshened: StoredResponse? = state.withLock { state in
            guard !state.isInvalidated(response.key, tags: draft.tags, after: fence),
                let index = state.responses[response.key]?.firstIndex(where: { $0.id == response.id })
            else { return nil }
            state.responses[response.key]?[index].head = draft.head
            state.tags[response.id] = draft.tags
            return state.responses[response.key]?[index]
        }
        if freshened != nil { changes.publish(StoreChange(.freshened, .key(response.key), tags: draft.tags)) }
        return freshened
    }

    /// See `ResponseStore`.
    public func invalidate(
        _ scope: InvalidationScope,
        keepingForOffline: Bool,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        let number = state.withLock { state in
            let number = (state.invalidations.last?.number ?? 0) + 1
            state.invalidations.append((number, scope))
            for key in state.responses.keys {
                var kept: [StoredResponse] = []
                for var response in state.responses[key, default: []] {
                    if scope.covers(key, tags: state.tags[response.id] ?? []) {
                        if !keepingForOffline { continue }
                        response.head.isInvalidated = true
                    }
                    kept.append(response)
                }
                state.responses[key] = kept.isEmpty ? nil : kept
            }
            return InvalidationSequence(number)
        }
        changes.publish(StoreChange(.invalidated, scope))
        return number
    }

    fileprivate func commit(_ draft: ResponseDraft, _ body: ByteBuffer, fence: InvalidationSequence) -> StoredResponse?
    {
        let stored: StoredResponse? = state.withLock { state in
            guard !state.isInvalidated(draft.key, tags: draft.tags, after: fence) else { return nil }
            let response = StoredResponse(
                id: state.nextID,
                key: draft.key,
                head: draft.head,
                bodyID: state.nextID,
                bodyLength: Int64(body.readableBytes),
                storedAt: draft.storedAt
            )
            state.nextID += 1
            state.bodies[response.bodyID] = body
            state.tags[response.id] = draft.tags
            state.responses[draft.key, default: []].removeAll {
                $0.head.selectingFields == draft.head.selectingFields
                    && $0.head.fields[.vary] == draft.head.fields[.vary]
            }
            state.responses[draft.key, default: []].append(response)
            return response
        }
        if stored != nil { changes.publish(StoreChange(.stored, .key(draft.key), tags: draft.tags)) }
        return stored
    }

    private final class Writer: ResponseWriter {
        private let store: InMemoryResponseStore
        private let draft: ResponseDraft
        private let fence: InvalidationSequence
        private let body = Mutex(ByteBuffer())

        init(store: InMemoryResponseStore, draft: ResponseDraft, fence: InvalidationSequence) {
            self.store = store
            self.draft = draft
            self.fence = fence
        }

        func append(_ chunk: ByteBuffer) async throws {
            body.withLock { _ = $0.writeImmutableBuffer(chunk) }
        }

        var readableLength: Int64 { get async { Int64(body.withLock { $0.readableBytes }) } }

        func readBack(from offset: Int64) async throws -> ByteBuffer {
            body.withLock { body in
                let offset = Int(offset)
                return body.getSlice(at: offset, length: min(65_536, body.readableBytes - offset)) ?? ByteBuffer()
            }
        }

        func finish() async throws -> StoredResponse? {
            store.commit(draft, body.withLock { $0 }, fence: fence)
        }

        func abandon() async {}
    }
}

extension InMemoryResponseStore.State {
    fileprivate func isInvalidated(_ key: CacheKey, tags: [String], after fence: InvalidationSequence) -> Bool {
        invalidations.contains { $0.number > fence.number && $0.scope.covers(key, tags: tags) }
    }
}

extension InvalidationScope {
    /// Whether it is about this key with these tags.
    fileprivate func covers(_ key: CacheKey, tags: [String]) -> Bool {
        switch self {
        case .all: true
        case .key(let other): other == key
        case .tag(let tag): tags.contains(tag)
        case .target(let target): key.components.target == target
        }
    }
}
