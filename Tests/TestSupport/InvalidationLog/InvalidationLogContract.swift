package import HTTPCache
import HTTPCacheSemantics
package import HoldfastTesting

/// The contract of every `InvalidationLog`, as a test suite that returns its findings about a store
/// and its log.
package struct InvalidationLogContract: Sendable {
    /// A store and its log.
    package struct Pair: Sendable {
        package var store: any ResponseStore
        package var log: any InvalidationLog

        package init(store: any ResponseStore, log: any InvalidationLog) {
            self.store = store
            self.log = log
        }
    }

    let make: @Sendable () async throws -> Pair
    /// Closes a store and opens it again.
    let reopen: (@Sendable (Pair) async throws -> Pair)?
    let seed: UInt64
    let timeout: Duration

    /// - Parameters:
    ///   - seed: the seed of all random choices; print it.
    ///   - timeout: the time limit for one rule. Only a log that hangs reaches it.
    ///   - reopen: closes the store and opens it again; `nil` skips the rules about restarts.
    ///   - make: creates an empty store.
    package init(
        seed: UInt64 = 1,
        timeout: Duration = .seconds(600),
        reopen: (@Sendable (Pair) async throws -> Pair)? = nil,
        make: @escaping @Sendable () async throws -> Pair
    ) {
        self.seed = seed
        self.timeout = timeout
        self.reopen = reopen
        self.make = make
    }

    struct Rule: Sendable {
        var sentence: String
        var check: @Sendable (InvalidationLogUnderTest) async throws -> Void

        init(_ sentence: String, _ check: @escaping @Sendable (InvalidationLogUnderTest) async throws -> Void) {
            self.sentence = sentence
            self.check = check
        }
    }

    private var allRules: [Rule] {
        Self.journaling + Self.applying + Self.publishing + (reopen == nil ? [] : Self.reopening)
    }

    /// The rules that ``run(where:)`` checks.
    package var rules: [String] { allRules.map(\.sentence) }

    /// Checks the rules, each with its own store.
    ///
    /// - Returns: the violations; empty if the log fulfills the contract.
    package func run(where isIncluded: (String) -> Bool = { _ in true }) async -> [ContractFinding] {
        var found: [ContractFinding] = []
        for rule in allRules where isIncluded(rule.sentence) {
            found += await findings(of: rule.sentence, timeout: timeout) { findings in
                let pair = try await make()
                try await rule.check(
                    InvalidationLogUnderTest(pair: pair, findings: findings, seed: seed, reopen: reopen)
                )
            }
        }
        return found
    }
}

/// A store under test, with the operations that most rules need.
struct InvalidationLogUnderTest: Sendable {
    var pair: InvalidationLogContract.Pair
    let findings: Findings
    let seed: UInt64
    let reopen: (@Sendable (InvalidationLogContract.Pair) async throws -> InvalidationLogContract.Pair)?

    static let now = Timestamp(milliseconds: 1_700_000_000_000)

    var log: any InvalidationLog { pair.log }
    var stores: StoreUnderTest { StoreUnderTest(store: pair.store, findings: findings, seed: seed) }

    @discardableResult
    func join(_ name: String = "shop") async throws -> LogStart { try await log.join(name, at: Self.now) }

    /// Stores a response under a key.
    func put(_ key: StoreKey, tags: [String] = []) async throws {
        try await stores.put(stores.draft(key, tags: tags), stores.body("content"))
    }

    /// Returns whether the response stored under a key is marked; `nil` if there is no response.
    func mark(_ key: StoreKey) async throws -> Bool? { try await stores.mark(key) }

    func invalidate(_ scope: InvalidationScope, soft: Bool = true) async throws {
        _ = try await pair.store.invalidate(scope, soft ? .mark(.unspecified) : .remove, at: Self.now)
    }

    /// Returns all waiting invalidations.
    func waiting() async throws -> [FleetInvalidation] { try await log.unpublished(limit: 1000) }

    func place(_ number: UInt64, in epoch: UInt64 = 8) -> LogPosition { LogPosition(epoch: epoch, number: number) }

    func cursor(_ number: UInt64, in epoch: UInt64 = 8) -> LogCursor {
        LogCursor(position: place(number, in: epoch), epochs: [epoch: number])
    }

    /// Returns an invalidation from another node.
    func foreign(_ scope: InvalidationScope, _ effect: InvalidationEffect = .mark(.unspecified)) -> FleetInvalidation {
        FleetInvalidation(id: .random(), scope: scope, effect: effect, issuedAt: Self.now)
    }
}
