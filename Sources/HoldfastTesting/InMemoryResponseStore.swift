public import HTTPCache
public import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization

/// An in-memory store with the same contract as a store on disk, for tests of code that uses a
/// store.
public final class InMemoryResponseStore: ResponseStore {
    package struct State: Sendable {
        var responses: [StoreKey: [StoredResponse]] = [:]
        var bodies: [Int64: ByteBuffer] = [:]
        var tags: [Int64: [String]] = [:]
        var pinned: Set<Int64> = []
        var invalidations: [(number: Int64, scope: InvalidationScope)] = []
        var nextID: Int64 = 1
        var needed: [StoreKey] = []
    }

    private let state = Mutex(State())

    /// See `ResponseStore`.
    public let changes = StoreChangeFeed()

    private let hasResidentBodies: Bool

    /// Creates an empty store.
    ///
    /// - Parameter hasResidentBodies: whether a found response carries its body
    ///   (`StoredResponse.content`), as in a store with a memory tier. If not, the body must be
    ///   opened.
    public init(hasResidentBodies: Bool = false) {
        self.hasResidentBodies = hasResidentBodies
    }

    /// See `ResponseStore`.
    public var invalidationSequence: InvalidationSequence {
        InvalidationSequence(state.withLock { $0.invalidations.last?.number ?? 0 })
    }

    /// See `ResponseStore`. It finds every response, because all are in memory.
    public func resident(_ key: StoreKey) -> [StoredResponse]? {
        state.withLock { $0.responses[key] ?? [] }
    }

    /// See `ResponseStore`.
    public func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        state.withLock { $0.responses[key] ?? [] }
    }

    /// All stored responses, in no particular order.
    public var all: [StoredResponse] { state.withLock { $0.responses.values.flatMap { $0 } } }

    /// Returns whether a stored response is protected from eviction. This store evicts nothing; it
    /// only records the pin.
    public func isPinned(_ response: StoredResponse) -> Bool { state.withLock { $0.pinned.contains(response.id) } }

    /// See `ResponseStore`. This store evicts nothing; it only records the key.
    public func noteNeeded(_ response: StoredResponse) { state.withLock { $0.needed.append(response.key) } }

    /// The keys of responses that were served because their origins could not be asked, or failed.
    package var needed: [StoreKey] { state.withLock { $0.needed } }

    /// See `ResponseStore`.
    public func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        guard let body = state.withLock({ $0.bodies[response.bodyID] }) else { return nil }
        guard let range else { return BodyStream(body) }
        guard range.lowerBound >= 0, range.upperBound <= Int64(body.readableBytes) else { return nil }
        return body.getSlice(at: body.readerIndex + Int(range.lowerBound), length: range.count).map { BodyStream($0) }
    }

    /// See `ResponseStore`.
    public func beginWrite(
        _ draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> (any StoredResponseWriter)? {
        draft.hasAcceptableTags ? Writer(store: self, draft: draft, fencingNumber: fencingNumber) : nil
    }

    /// See `ResponseStore`.
    public func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> StoredResponse? {
        let freshened: StoredResponse? = state.withLock { state in
            let tags = draft.tags + state.tags[response.id, default: []]
            guard draft.hasAcceptableTags, !state.isInvalidated(response.key, tags: tags, after: fencingNumber),
                var freshened = state.responses[response.key]?.first(where: { $0.id == response.id })
            else { return nil }
            freshened.head = draft.head
            freshened.content = freshened.content.map {
                ResidentContent(body: $0.body, freshUntil: draft.freshUntil, derived: $0.derived)
            }
            state.put(freshened, tags: draft.tags, isPinned: draft.isPinned)
            return freshened
        }
        if freshened != nil { changes.publish(StoreChange(.freshened, .key(response.key), tags: draft.tags)) }
        return freshened
    }

    /// See `ResponseStore`.
    public func withdraw(_ response: StoredResponse) async throws -> Bool {
        let wasThere = state.withLock { $0.withdraw(response) }
        if wasThere { changes.publish(StoreChange(.invalidated, .key(response.key))) }
        return wasThere
    }

    /// See `ResponseStore`.
    public func invalidate(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        let number = state.withLock { $0.invalidate(scope, effect) }
        changes.publish(StoreChange(.invalidated, scope))
        return number
    }

    /// Reads or changes everything in one step.
    package func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    fileprivate func commit(_ draft: ResponseDraft, _ body: ByteBuffer, fencingNumber: InvalidationSequence)
        -> StoredResponse?
    {
        let stored: StoredResponse? = state.withLock { state in
            guard !state.isInvalidated(draft.key, tags: draft.tags, after: fencingNumber) else { return nil }
            let response = StoredResponse(
                id: state.nextID,
                key: draft.key,
                head: draft.head,
                bodyID: state.nextID,
                bodyLength: Int64(body.readableBytes),
                storedAt: draft.storedAt,
                content: ResidentContent(body: hasResidentBodies ? body : nil, freshUntil: draft.freshUntil)
            )
            state.nextID += 1
            state.bodies[response.bodyID] = body
            state.put(response, tags: draft.tags, isPinned: draft.isPinned)
            return response
        }
        if stored != nil { changes.publish(StoreChange(.stored, .key(draft.key), tags: draft.tags)) }
        return stored
    }

    private final class Writer: StoredResponseWriter {
        private let store: InMemoryResponseStore
        private let draft: ResponseDraft
        private let fencingNumber: InvalidationSequence
        private let body = Mutex((bytes: ByteBuffer(), isWriting: true))

        init(store: InMemoryResponseStore, draft: ResponseDraft, fencingNumber: InvalidationSequence) {
            self.store = store
            self.draft = draft
            self.fencingNumber = fencingNumber
        }

        func append(_ chunk: ByteBuffer) async throws {
            try body.withLock { body in
                guard body.isWriting else { throw WriterEnded() }
                body.bytes.writeImmutableBuffer(chunk)
            }
        }

        var readableLength: Int64 { get async { Int64(body.withLock { $0.bytes.readableBytes }) } }

        func readBack(from offset: Int64) async throws -> ByteBuffer {
            body.withLock { body in
                let offset = Int(offset)
                let length = max(0, min(65_536, body.bytes.readableBytes - offset))
                return body.bytes.getSlice(at: offset, length: length) ?? ByteBuffer()
            }
        }

        func finish() async throws -> StoredResponse? {
            let bytes = try body.withLock { body in
                guard body.isWriting else { throw WriterEnded() }
                body.isWriting = false
                return body.bytes
            }
            return store.commit(draft, bytes, fencingNumber: fencingNumber)
        }

        func abandon() async { body.withLock { $0.isWriting = false } }
    }
}

/// An error for a writer that is used after it was finished or abandoned.
private struct WriterEnded: Error {}

extension InMemoryResponseStore.State {
    package mutating func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect) -> InvalidationSequence {
        let number = (invalidations.last?.number ?? 0) + 1
        invalidations.append((number, scope))
        for key in responses.keys {
            var kept: [StoredResponse] = []
            for var response in responses[key, default: []] {
                if scope.covers(key, tags: tags[response.id] ?? []) {
                    switch effect {
                    case .remove:
                        forget(response)
                        continue
                    case .mark(let cause):
                        response.head.invalidate(cause)
                    }
                }
                kept.append(response)
            }
            responses[key] = kept.isEmpty ? nil : kept
        }
        return InvalidationSequence(number)
    }

    fileprivate mutating func withdraw(_ response: StoredResponse) -> Bool {
        let present = responses[response.key, default: []]
        guard let gone = present.first(where: { $0.bodyID == response.bodyID }) else { return false }
        forget(gone)
        let kept = present.filter { $0.id != gone.id }
        responses[response.key] = kept.isEmpty ? nil : kept
        return true
    }

    /// Stores a response, and replaces the same variant and the response's previous version.
    fileprivate mutating func put(_ response: StoredResponse, tags: [String], isPinned: Bool) {
        var isPinned = isPinned
        var others: [StoredResponse] = []
        for other in responses[response.key, default: []] where other.id != response.id {
            if other.head.selectingFields == response.head.selectingFields,
                other.head.fields[.vary] == response.head.fields[.vary]
            {
                // A response that replaces a pinned response is also pinned.
                isPinned = isPinned || pinned.contains(other.id)
                forget(other)
            } else {
                others.append(other)
            }
        }
        responses[response.key] = others + [response]
        self.tags[response.id] = tags
        if isPinned { pinned.insert(response.id) }
    }

    /// Removes the data of a response that is no longer listed. Open body streams have their own
    /// copy.
    fileprivate mutating func forget(_ response: StoredResponse) {
        bodies[response.bodyID] = nil
        tags[response.id] = nil
        pinned.remove(response.id)
    }

    fileprivate func isInvalidated(_ key: StoreKey, tags: [String], after fencingNumber: InvalidationSequence) -> Bool {
        invalidations.contains { $0.number > fencingNumber.number && $0.scope.covers(key, tags: tags) }
    }
}
