import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization

/// Wraps a correct store and breaks one rule.
final class MutantStore: ResponseStore {
    /// The broken rule. The raw value is a part of the sentence of the rule that must detect it.
    enum Mutation: String, CaseIterable, Sendable {
        case showsUnfinished = "Nothing is visible before 'finish'"
        case finishesAbandoned = "After 'abandon' nothing is visible"
        case readsBackFromElsewhere = "'readableLength' are read back"
        case dropsTooManyTags = "A response with too many tags"
        case reusesNumbers = "A number is never used for two responses"
        case sortsFields = "is returned as it was drafted"
        case cutsBodies = "A body is returned byte for byte"
        case ignoresRanges = "A part of a body is returned"
        case losesBodiesThatAreRead = "stays readable until its stream is released"
        case returnsPartOfResident = "'resident' returns all"
        case deletesOnReading = "Reading deletes nothing"
        case forgetsSelection = "is another variant of its key"
        case keepsReplaced = "replaces the stored response that has the same key"
        case ignoresPartitions = "Keys that differ in one part"
        case countsNothing = "has a larger number than the one before"
        case ignoresFences = "whose fetch began before an invalidation"
        case rejectsAllAfterInvalidation = "A fetch that began after an invalidation is stored"
        case removesInsteadOfMarking = "'keepingForOffline' marks"
        case forgetsCauses = "An invalidation's cause is kept"
        case invalidatesKeysForTargets = "An invalidation of a target covers all partitions"
        case takesPrefixesForTargets = "An invalidation of a prefix covers exactly the targets"
        case takesPrefixesForPaths = "A prefix may end anywhere"
        case takesPrefixesForOrigins = "begin with it, in all partitions, method classes and variants"
        case takesPrincipalsForAll = "An invalidation of a principal covers all responses"
        case forgetsPrefixesBeyondSome = "Concurrent invalidations of many prefixes"
        case forgetsTags = "A tag is invalidated for all responses"
        case freshensWithoutFence = "A response that was invalidated after the fencing number is not freshened"
        case revivesRemoved = "A removed response is not freshened"
        case keepsOldTags = "'freshen' replaces the tags"
        case movesTimeOfStoring = "body and time of storing"
        case reportsNoChange = "A watcher receives what was stored"
        case reportsTooEarly = "A change is reported after its commit"
        case withdrawsReplacements = "unless another has replaced it"
        case withdrawsAllVariants = "Withdrawing a response removes only that response"
        case hangsOnInvalidation = "An invalidation that covers no stored response is not an error"
    }

    private let mutation: Mutation
    private let base = InMemoryResponseStore()
    private let silent = StoreChangeFeed()
    private let early = StoreChangeFeed()
    private let drafts = Mutex<[StoreKey: StoredResponse]>([:])
    private let looked = Mutex<[StoreKey: Int]>([:])
    private let numbers = Mutex<[Int64: Int64]>([:])

    init(_ mutation: Mutation) { self.mutation = mutation }

    var invalidationSequence: InvalidationSequence {
        mutation == .countsNothing ? InvalidationSequence(1) : base.invalidationSequence
    }

    var changes: StoreChangeFeed {
        switch mutation {
        case .reportsNoChange: silent
        case .reportsTooEarly: early
        default: base.changes
        }
    }

    func resident(_ key: StoreKey) -> [StoredResponse]? {
        let found = base.resident(changed(key)).map { $0.map(shown) }
        return mutation == .returnsPartOfResident ? found.map { Array($0.prefix(1)) } : found
    }

    func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        var found = try await base.lookup(changed(key)).map(shown)
        switch mutation {
        case .showsUnfinished: if let draft = drafts.withLock({ $0[key] }) { found.append(draft) }
        case .deletesOnReading:
            let count = looked.withLock { looked in
                looked[key, default: 0] += 1
                return looked[key] ?? 0
            }
            if count > 5 { found = [] }
        case .ignoresPartitions: found = found.map { $0.rekeyed(key) }
        default: break
        }
        return found
    }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        switch mutation {
        case .ignoresRanges: return try await base.openBody(of: response)
        case .cutsBodies:
            guard let whole = try await base.openBody(of: response, range: range)?.collect(upTo: 1 << 30) else {
                return nil
            }
            return BodyStream(whole.getSlice(at: 0, length: min(whole.readableBytes, 131_072)) ?? whole)
        case .losesBodiesThatAreRead:
            guard let body = try await base.openBody(of: response, range: range),
                let length = body.length?.bytes(upTo: 1 << 30)
            else {
                return nil
            }
            let start = range?.lowerBound ?? 0
            return BodyStream(length: body.length) { [base] in
                var offset: Int64 = 0
                return {
                    guard offset < length else { return nil }
                    let end = min(length, offset + 65_536)
                    defer { offset = end }
                    return try await base.openBody(of: response, range: start + offset..<start + end)?.collect(
                        upTo: 65_536
                    )
                }
            }
        default: return try await base.openBody(of: response, range: range)
        }
    }

    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )? {
        var draft = draft
        draft.key = changed(draft.key)
        var fencingNumber = fencingNumber
        switch mutation {
        case .sortsFields: draft.head.fields = draft.head.fields.sorted
        case .forgetsSelection: draft.head.selectingFields = [:]
        case .keepsReplaced: draft.head.selectingFields.append(HTTPField(name: .range, value: "\(base.all.count)"))
        case .dropsTooManyTags: draft.tags = draft.tags.prefix(64).map { String($0.prefix(1024)) }
        case .forgetsTags: draft.tags = []
        case .ignoresFences: fencingNumber = InvalidationSequence(.max)
        case .rejectsAllAfterInvalidation: if base.invalidationSequence.number > 0 { return nil }
        case .showsUnfinished:
            let response = StoredResponse(
                id: -1,
                key: draft.key,
                head: draft.head,
                bodyID: -1,
                bodyLength: 0,
                storedAt: draft.storedAt
            )
            drafts.withLock { $0[draft.key] = response }
        default: break
        }
        if mutation == .reportsTooEarly { early.publish(StoreChange(.stored, .key(draft.key), tags: draft.tags)) }
        guard let writer = try await base.beginWrite(draft, fencingNumber: fencingNumber) else { return nil }
        return Writer(self, writer)
    }

    func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> StoredResponse? {
        var draft = draft
        switch mutation {
        case .freshensWithoutFence:
            return try await base.freshen(response, with: draft, fencingNumber: InvalidationSequence(.max))
        case .revivesRemoved:
            if let freshened = try await base.freshen(response, with: draft, fencingNumber: fencingNumber) {
                return freshened
            }
            if try await base.lookup(response.key).contains(where: { $0.id == response.id }) { return nil }
            let writer = try await base.beginWrite(draft, fencingNumber: InvalidationSequence(.max))
            return try await writer?.finish()
        case .keepsOldTags: draft.tags += ["a", "b"]
        case .movesTimeOfStoring:
            var freshened = try await base.freshen(response, with: draft, fencingNumber: fencingNumber)
            freshened = freshened?.stored(at: draft.storedAt)
            return freshened
        default: break
        }
        return try await base.freshen(response, with: draft, fencingNumber: fencingNumber)
    }

    func withdraw(_ response: StoredResponse) async throws -> Bool {
        switch mutation {
        case .withdrawsReplacements:
            let present = try await base.lookup(response.key).first
            return try await base.withdraw(present ?? response)
        case .withdrawsAllVariants:
            for variant in try await base.lookup(response.key) { _ = try await base.withdraw(variant) }
            return true
        default: return try await base.withdraw(response)
        }
    }

    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        var (scope, effect) = (scope, effect)
        switch mutation {
        case .removesInsteadOfMarking: effect = .remove
        case .forgetsCauses: if case .mark = effect { effect = .mark(.unspecified) }
        case .invalidatesKeysForTargets:
            if case .target(let target) = scope { scope = .key(StoreKey(method: .get, target: target)) }
        case .takesPrefixesForTargets:
            if case .prefix(let prefix) = scope { scope = .target(try TargetURI(prefix.uri)) }
        case .takesPrefixesForPaths:
            if case .prefix(let prefix) = scope, let part = prefix.uri.split(separator: "?").first {
                scope = .prefix(try TargetPrefix(String(part)))
            }
        case .takesPrefixesForOrigins:
            if case .prefix(let prefix) = scope {
                scope = .prefix(try TargetPrefix("\(prefix.scheme)://\(prefix.host):\(prefix.port)"))
            }
        case .forgetsPrefixesBeyondSome:
            if case .prefix = scope, base.invalidationSequence.number > 64 { scope = .tag("none") }
        case .takesPrincipalsForAll: if case .principal = scope { scope = .all }
        case .hangsOnInvalidation: if base.all.isEmpty { try await Gate().wait() }
        default: break
        }
        let number = try await base.invalidate(scope, effect, at: now)
        return mutation == .countsNothing ? InvalidationSequence(1) : number
    }

    private func changed(_ key: StoreKey) -> StoreKey {
        guard mutation == .ignoresPartitions else { return key }
        return StoreKey(method: key.components.method, target: key.components.target, content: key.components.content)
    }

    fileprivate func shown(_ response: StoredResponse) -> StoredResponse {
        guard mutation == .reusesNumbers else { return response }
        return StoredResponse(
            id: 1,
            key: response.key,
            head: response.head,
            bodyID: response.bodyID,
            bodyLength: response.bodyLength,
            storedAt: response.storedAt
        )
    }

    private final class Writer: StoredResponseWriter {
        private let store: MutantStore
        private let base: any StoredResponseWriter
        private let isAbandoned = Mutex(false)

        init(_ store: MutantStore, _ base: any StoredResponseWriter) {
            self.store = store
            self.base = base
        }

        func append(_ chunk: ByteBuffer) async throws { try await base.append(chunk) }

        var readableLength: Int64 { get async { await base.readableLength } }

        func readBack(from offset: Int64) async throws -> ByteBuffer {
            try await base.readBack(from: store.mutation == .readsBackFromElsewhere ? offset / 2 : offset)
        }

        func finish() async throws -> StoredResponse? {
            if store.mutation == .reportsTooEarly { for _ in 0..<2000 { await Task.yield() } }
            return try await base.finish().map(store.shown)
        }

        func abandon() async {
            if store.mutation == .finishesAbandoned { _ = try? await base.finish() } else { await base.abandon() }
        }
    }
}

extension StoredResponse {
    fileprivate func rekeyed(_ key: StoreKey) -> StoredResponse {
        StoredResponse(id: id, key: key, head: head, bodyID: bodyID, bodyLength: bodyLength, storedAt: storedAt)
    }

    fileprivate func stored(at instant: Timestamp) -> StoredResponse {
        StoredResponse(id: id, key: key, head: head, bodyID: bodyID, bodyLength: bodyLength, storedAt: instant)
    }
}

extension HTTPFields {
    fileprivate var sorted: HTTPFields {
        HTTPFields(self.map { $0 }.sorted { $0.name.canonicalName < $1.name.canonicalName })
    }
}
