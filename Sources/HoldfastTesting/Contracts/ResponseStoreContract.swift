public import HTTPCache
import HTTPCacheSemantics

/// The contract of every `ResponseStore`, as a test suite that returns its findings about a store.
///
/// Each sentence of the protocol's documentation that can be observed from outside is a rule. The
/// suite depends on no test framework: in your test, expect the findings to be empty.
///
/// ```swift
/// @Test func myStoreKeepsTheContract() async {
///     let contract = ResponseStoreContract { try await MyStore.open(at: temporaryFolder()) }
///     #expect(await contract.run() == [])
/// }
/// ```
public struct ResponseStoreContract: Sendable {
    /// Creates an empty store for a single rule. The store accepts bodies of 2 MiB, and has room
    /// for a few dozen responses of that size.
    let makeStore: @Sendable () async throws -> any ResponseStore
    /// Closes a store and opens it again.
    let reopen: (@Sendable (any ResponseStore) async throws -> any ResponseStore)?
    let seed: UInt64
    let timeout: Duration

    /// Creates the suite for one kind of store.
    ///
    /// - Parameters:
    ///   - seed: the seed of all random choices, which are lengths, contents, ranges and orders.
    ///     Findings do not include it, so print it.
    ///   - timeout: the time limit for one rule. Only a store that hangs reaches it.
    ///   - reopen: closes the store and opens it again, as after a restart; `nil` skips the rules
    ///     about restarts.
    ///   - makeStore: creates an empty store that accepts bodies of 2 MiB.
    public init(
        seed: UInt64 = 1,
        timeout: Duration = .seconds(30),
        reopen: (@Sendable (any ResponseStore) async throws -> any ResponseStore)? = nil,
        makeStore: @escaping @Sendable () async throws -> any ResponseStore
    ) {
        self.seed = seed
        self.timeout = timeout
        self.reopen = reopen
        self.makeStore = makeStore
    }

    /// A rule, tested with its own store.
    struct Rule: Sendable {
        var sentence: String
        var check: @Sendable (StoreUnderTest) async throws -> Void

        init(_ sentence: String, _ check: @escaping @Sendable (StoreUnderTest) async throws -> Void) {
            self.sentence = sentence
            self.check = check
        }
    }

    private var allRules: [Rule] {
        Self.writing + Self.reading + Self.variants + Self.invalidating + Self.prefixing + Self.tagging
            + Self.freshening + Self.sharing
            + Self.changing + (reopen == nil ? [] : Self.reopening)
    }

    /// The rules that ``run(where:)`` checks.
    public var rules: [String] { allRules.map(\.sentence) }

    /// Checks the rules, each with its own store.
    ///
    /// - Parameter isIncluded: whether to check a rule, given its sentence; includes all rules by
    ///   default.
    /// - Returns: the violations; empty if the store fulfills the contract.
    public func run(where isIncluded: (String) -> Bool = { _ in true }) async -> [ContractFinding] {
        var found: [ContractFinding] = []
        for rule in allRules where isIncluded(rule.sentence) {
            found += await findings(of: rule.sentence, timeout: timeout) { findings in
                let store = try await makeStore()
                try await rule.check(StoreUnderTest(store: store, findings: findings, seed: seed, reopen: reopen))
            }
        }
        return found
    }
}
