import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore

/// A store that fails and delays by chance, and checks the calls that it gets.
final class SimulatedStore: ResponseStore, @unchecked Sendable {
    // Unchecked: see ``World``.

    struct Fault: Error {}

    let base: InMemoryResponseStore
    private let world: World
    private var generator: SeededRandom

    init(_ world: World, _ generator: SeededRandom) {
        base = InMemoryResponseStore()
        self.world = world
        self.generator = generator
    }

    fileprivate func pause() async throws {
        for _ in 0..<generator.int(0...2) { await SerialThread.yield() }
        if !world.isCalm, generator.chance(world.configuration.storeFaults) {
            world.storeFaultTicks.append(world.nextTick())
            throw Fault()
        }
    }

    var invalidationSequence: InvalidationSequence { base.invalidationSequence }
    var changes: StoreChangeFeed { base.changes }

    func resident(_ key: StoreKey) -> [StoredResponse]? {
        generator.chance(0.5) ? base.resident(key) : nil
    }

    func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        try await pause()
        let found = try await base.lookup(key)
        for _ in 0..<generator.int(0...1) { await SerialThread.yield() }
        return found
    }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        try await pause()
        return try await base.openBody(of: response, range: range)
    }

    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )? {
        try await pause()
        if generator.chance(0.02) { return nil }
        guard let writer = try await base.beginWrite(draft, fencingNumber: fencingNumber) else { return nil }
        return Writer(store: self, draft: draft, base: writer)
    }

    func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> StoredResponse? {
        try await pause()
        return try await base.freshen(response, with: draft, fencingNumber: fencingNumber)
    }

    @discardableResult
    func withdraw(_ response: StoredResponse) async throws -> Bool {
        try await pause()
        return try await base.withdraw(response)
    }

    @discardableResult
    func invalidate(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        let place = world.invalidations.count
        world.invalidations.append(
            Invalidation(scope: world.name(scope), effect: effect, begunTick: world.nextTick())
        )
        try await pause()
        let number = try await base.invalidate(scope, effect, at: now)
        world.invalidations[place].endedTick = world.nextTick()
        for _ in 0..<generator.int(0...1) { await SerialThread.yield() }
        return number
    }

    /// An error never replaces a stored success.
    fileprivate func check(_ draft: ResponseDraft) {
        guard draft.head.status.code >= 400, !draft.head.isInvalidated else { return }
        let replaced = base.resident(draft.key)?.first {
            $0.head.selectingFields == draft.head.selectingFields && $0.head.fields[.vary] == draft.head.fields[.vary]
        }
        guard let replaced, replaced.head.status.code < 400 else { return }
        world.violations.append(
            "store: \(draft.head.status.code) (sent \(draft.head.fields[.sent] ?? "?")) replaces "
                + "\(replaced.head.status.code) (sent \(replaced.head.fields[.sent] ?? "?")) under \(draft.key.components.target.uri)"
        )
    }

    private final class Writer: StoredResponseWriter {
        private let store: SimulatedStore
        private let draft: ResponseDraft
        private let base: any StoredResponseWriter

        init(store: SimulatedStore, draft: ResponseDraft, base: any StoredResponseWriter) {
            self.store = store
            self.draft = draft
            self.base = base
        }

        func append(_ chunk: ByteBuffer) async throws {
            if store.generator.chance(0.2) { try await store.pause() }
            try await base.append(chunk)
        }

        var readableLength: Int64 { get async { await base.readableLength } }

        func readBack(from offset: Int64) async throws -> ByteBuffer { try await base.readBack(from: offset) }

        func finish() async throws -> StoredResponse? {
            try await store.pause()
            store.check(draft)
            return try await base.finish()
        }

        func abandon() async { await base.abandon() }
    }
}

extension World {
    /// A scope in the oracle's own words.
    func name(_ scope: InvalidationScope) -> Invalidation.Scope {
        switch scope {
        case .all: .all
        case .tag(let tag): .tag(tag)
        case .principal(let name): .principal(name)
        case .target(let target): .target(target.uri)
        case .prefix(let prefix): .prefix(prefix.uri)
        case .host(let host): .host(host.name)
        case .key(let key): .key(resource: key.components.target.uri, principal: "\(key.components.partition)")
        }
    }
}
