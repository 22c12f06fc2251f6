import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import OfflineStore
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ResponseStoreContractTests {
    /// For one rule: longer than it takes on a busy machine.
    static let patience = Duration.seconds(600)
    static let seed: UInt64 = 1

    @Test func storeInMemoryKeepsContract() async {
        let found = await ResponseStoreContract(seed: Self.seed, timeout: Self.patience) { InMemoryResponseStore() }
            .run()
        #expect(found == [], "seed \(Self.seed)")
    }

    @Test func faultyStoreKeepsContractWhileNothingFails() async {
        let contract = ResponseStoreContract(seed: Self.seed, timeout: Self.patience) {
            FaultyResponseStore(InMemoryResponseStore())
        }
        let found = await contract.run()
        #expect(found == [], "seed \(Self.seed)")
    }

    @Test func storeOnDiskKeepsContract() async throws {
        let stores = try OpenStores()
        let contract = ResponseStoreContract(
            seed: Self.seed,
            timeout: Self.patience,
            reopen: { store in try await stores.reopen(store) },
            makeStore: { try await stores.open() }
        )
        let found = await contract.run()
        #expect(found == [], "seed \(Self.seed)")
        try await stores.close()
    }

    @Test func storeOnDiskKeepsPins() async throws {
        let stores = try OpenStores()
        let store = try await stores.open()
        let target = try TargetURI("https://a.example/x")
        var draft = ResponseDraft(
            key: StoreKey(target: target),
            head: StoredResponseHead(status: .ok, fields: [:], requestTime: .distantPast, responseTime: .distantPast),
            freshUntil: .distantFuture,
            isUsableStale: true,
            storedAt: Timestamp(seconds: 0)
        )
        let fencingNumber = store.invalidationSequence
        _ = try await store.beginWrite(draft, fencingNumber: fencingNumber)?.finish()
        #expect(try await stores.arePinned(target) == [false])
        draft.isPinned = true
        let stored = try #require(try await store.lookup(draft.key).first)
        _ = try await store.freshen(stored, with: draft, fencingNumber: fencingNumber)
        #expect(try await stores.arePinned(target) == [true])
        // A new head keeps the pin, and so does a replacing response.
        draft.isPinned = false
        _ = try await store.freshen(stored, with: draft, fencingNumber: fencingNumber)
        _ = try await store.beginWrite(draft, fencingNumber: fencingNumber)?.finish()
        #expect(try await stores.arePinned(target) == [true])
        try await store.invalidate(.key(draft.key), keepingForOffline: false, at: Timestamp(seconds: 1))
        draft.isPinned = true
        _ = try await store.beginWrite(draft, fencingNumber: store.invalidationSequence)?.finish()
        #expect(try await stores.arePinned(target) == [true])
        try await stores.close()
    }

    @Test func everyRuleIsADistinctSentence() {
        let rules = ResponseStoreContract(reopen: { $0 }) { InMemoryResponseStore() }.rules
        #expect(Set(rules).count == rules.count && rules.count > 30)
        #expect(rules.allSatisfy { $0.hasSuffix(".") })
    }

    @Test(arguments: MutantStore.Mutation.allCases)
    func detectsStoreThatBreaksOneRule(_ mutation: MutantStore.Mutation) async {
        let contract = ResponseStoreContract(seed: Self.seed, timeout: .seconds(5)) { MutantStore(mutation) }
        let found = await contract.run { $0.contains(mutation.rawValue) }
        #expect(!found.isEmpty, "seed \(Self.seed)")
    }

    @Test func detectsStoreThatThrows() async {
        let contract = ResponseStoreContract(timeout: Self.patience) {
            let store = FaultyResponseStore(InMemoryResponseStore())
            store.fail([.finish])
            return store
        }
        let found = await contract.run { $0.hasPrefix("Reading") }
        #expect(found.contains { $0.detail.contains("an error was thrown") })
    }
}

/// Stores in separate folders, with the data to open them again.
private final class OpenStores: Sendable {
    private let folder: TemporaryFolder
    private let state = Mutex<[(manager: CacheManager, path: String)]>([])

    init() throws { folder = try TemporaryFolder() }

    func open() async throws -> any ResponseStore {
        let number = state.withLock { $0.count }
        return try await open("\(folder.path)/\(number)").responses
    }

    func arePinned(_ target: TargetURI) async throws -> [Bool] {
        guard let manager = state.withLock({ $0.last?.manager }) else { return [] }
        return try await manager.entries(for: target).map(\.isPinned)
    }

    func reopen(_ store: any ResponseStore) async throws -> any ResponseStore {
        guard let open = state.withLock({ $0.last }), open.manager.responses as AnyObject === store as AnyObject else {
            throw TestFailure("another store is open")
        }
        try await open.manager.close()
        return try await self.open(open.path).responses
    }

    private func open(_ path: String) async throws -> CacheManager {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let manager = try await CacheManager.open(
            at: path,
            configuration: .init(budget: 128 << 20),
            clock: ManualClock(),
            logger: quiet
        )
        state.withLock { $0.append((manager, path)) }
        return manager
    }

    func close() async throws {
        for (manager, _) in state.withLock({ $0 }) { try await manager.close() }
    }
}
