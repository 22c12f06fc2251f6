public import HTTPCache
import HTTPCacheSemantics

/// What every `ResponseStore` promises, as a suite that tries it out and returns what it finds.
///
/// Every sentence of the protocol's documentation that can be observed from outside is a rule. The
/// suite knows no test framework: expect that the findings are empty, in whichever one you use.
///
/// ```swift
/// @Test func myStoreKeepsTheContract() async {
///     let contract = ResponseStoreContract { try await MyStore.open(at: temporaryFolder()) }
///     #expect(await contract.run() == [])
/// }
/// ```
public struct ResponseStoreContract: Sendable {
    /// Makes an empty store, which nobody else uses. It accepts bodies of 2 MiB, and keeps some
    /// dozens of responses of that size.
    let makeStore: @Sendable () async throws -> any ResponseStore
    /// Closes a store and opens what it left.
    let reopen: (@Sendable (any ResponseStore) async throws -> any ResponseStore)?
    let seed: UInt64
    let timeout: Duration

    /// The suite for one kind of store.
    ///
    /// - Parameters:
    ///   - seed: of everything that is drawn: lengths, contents, ranges, the order of things. It is
    ///     part of no finding; print it.
    ///   - timeout: for one rule; reached only by a store that breaks it by hanging.
    ///   - reopen: closes the store and opens it again, as after a restart; `nil` leaves out the
    ///     rules about restarts.
    ///   - makeStore: makes an empty store that accepts bodies of 2 MiB.
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

    /// One rule, tried on a store of its own.
    struct Rule: Sendable {
        var sentence: String
        var check: @Sendable (StoreBench) async throws -> Void

        init(_ sentence: String, _ check: @escaping @Sendable (StoreBench) async throws -> Void) {
            self.sentence = sentence
            self.check = check
        }
    }

    private var allRules: [Rule] {
        Self.writing + Self.reading + Self.variants + Self.invalidating + Self.prefixing + Self.tagging
            + Self.freshening + Self.sharing
            + Self.changing + (reopen == nil ? [] : Self.reopening)
    }

    /// The sentences that ``run()`` checks.
    public var rules: [String] { allRules.map(\.sentence) }

    /// Tries the rules, each on a store of its own.
    ///
    /// - Parameter isIncluded: whether to try a sentence; all of them unless told otherwise.
    /// - Returns: what is broken; nothing when the store keeps the contract.
    public func run(where isIncluded: (String) -> Bool = { _ in true }) async -> [ContractFinding] {
        var found: [ContractFinding] = []
        for rule in allRules where isIncluded(rule.sentence) {
            found += await findings(of: rule.sentence, timeout: timeout) { findings in
                let store = try await makeStore()
                try await rule.check(StoreBench(store: store, findings: findings, seed: seed, reopen: reopen))
            }
        }
        return found
    }
}
