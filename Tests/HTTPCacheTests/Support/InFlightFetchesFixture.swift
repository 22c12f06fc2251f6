import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// A registry of in-flight fetches without an engine, a store or a socket.
struct InFlightFetchesFixture {
    /// How a caller is admitted.
    enum Way: Sendable, Hashable {
        case leads, joins, looksAgain, isRejected
    }

    let registry = InFlightFetches()
    let key: StoreKey
    let otherKey: StoreKey

    init() throws {
        key = StoreKey(target: try TargetURI("https://a.example/feed"))
        otherKey = StoreKey(target: try TargetURI("https://a.example/other"))
    }

    /// Admits a caller who waits for another's in-flight fetch, if there is one.
    @discardableResult
    func admit(
        _ key: StoreKey? = nil,
        seen: UInt32? = nil,
        fencingNumber: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil,
        mayReuse: (StoredResponseHead) -> Bool = { _ in true }
    ) -> (way: Way, inFlight: InFlightFetch?) {
        admit(
            key,
            as: .sharing,
            seen: seen,
            fencingNumber: fencingNumber,
            rules: rules,
            check: check,
            mayReuse: mayReuse
        )
    }

    private func admit(
        _ key: StoreKey? = nil,
        as role: InFlightFetches.Role,
        seen: UInt32? = nil,
        fencingNumber: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil,
        mayReuse: (StoredResponseHead) -> Bool = { _ in true }
    ) -> (way: Way, inFlight: InFlightFetch?) {
        let admission = registry.admit(
            key ?? self.key,
            as: role,
            seen: seen,
            fencingNumber: InvalidationSequence(fencingNumber),
            rules: rules.map { ObjectIdentifier($0) },
            check: check,
            mayReuse: mayReuse
        )
        switch admission {
        case .lead(let inFlight): return (.leads, inFlight)
        case .joined(let inFlight): return (.joins, inFlight)
        case .lookAgain: return (.looksAgain, nil)
        case .closed: return (.isRejected, nil)
        }
    }

    /// Admits a caller who has to lead.
    func lead(
        _ key: StoreKey? = nil,
        fencingNumber: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil
    ) throws -> InFlightFetch {
        let (way, inFlight) = admit(key, fencingNumber: fencingNumber, rules: rules, check: check)
        #expect(way == .leads)
        return try #require(inFlight)
    }

    /// Admits a caller who leads, or does without an in-flight fetch.
    func leadAtOnce(seen: UInt32? = nil) -> InFlightFetch? {
        admit(as: .leading, seen: seen ?? registry.endedCount(key)).inFlight
    }

    /// Admits a caller whose in-flight fetch no other may join.
    func admitAlone(_ key: StoreKey? = nil) -> InFlightFetch? {
        admit(key, as: .alone).inFlight
    }

    /// Makes an in-flight fetch for which no caller waits.
    func admitInBackground(
        isPart: Bool = false,
        fencingNumber: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil
    ) -> InFlightFetch? {
        let role: InFlightFetches.Role = isPart ? .backgroundPart : .background
        return admit(as: role, fencingNumber: fencingNumber, rules: rules, check: check).inFlight
    }

    /// Claims the right to store a response that is selected by a language.
    func claim(_ inFlight: InFlightFetch, _ language: String = "", isPart: Bool = false, key: StoreKey? = nil) -> Bool {
        var head = Self.head
        if !language.isEmpty { head.selectingFields[.acceptLanguage] = language }
        if isPart { head.status = .partialContent }
        return registry.claimStoring(inFlight, key ?? self.key, head) != .refused
    }

    static let head = StoredResponseHead(
        status: .ok,
        fields: [:],
        requestTime: Timestamp(seconds: 0),
        responseTime: Timestamp(seconds: 0)
    )
}
