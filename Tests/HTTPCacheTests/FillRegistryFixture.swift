import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// A registry of in-flight fetches without an engine, a store or a socket.
struct FillRegistryFixture {
    /// How a caller is admitted.
    enum Way: Sendable, Hashable {
        case leads, joins, looksAgain, isRejected
    }

    let registry = FillRegistry()
    let key: CacheKey
    let otherKey: CacheKey

    init() throws {
        key = CacheKey(target: try TargetURI("https://a.example/feed"))
        otherKey = CacheKey(target: try TargetURI("https://a.example/other"))
    }

    /// Admits a caller who waits for another's fill, if there is one.
    @discardableResult
    func admit(
        _ key: CacheKey? = nil,
        seen: UInt32? = nil,
        fence: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil,
        mayReuse: (StoredResponseHead) -> Bool = { _ in true }
    ) -> (way: Way, fill: Fill?) {
        admit(key, as: .sharing, seen: seen, fence: fence, rules: rules, check: check, mayReuse: mayReuse)
    }

    private func admit(
        _ key: CacheKey? = nil,
        as role: FillRegistry.Role,
        seen: UInt32? = nil,
        fence: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil,
        mayReuse: (StoredResponseHead) -> Bool = { _ in true }
    ) -> (way: Way, fill: Fill?) {
        let admission = registry.admit(
            key ?? self.key,
            as: role,
            seen: seen,
            fence: InvalidationSequence(fence),
            rules: rules.map { ObjectIdentifier($0) },
            check: check,
            mayReuse: mayReuse
        )
        switch admission {
        case .lead(let fill): return (.leads, fill)
        case .joined(let fill): return (.joins, fill)
        case .lookAgain: return (.looksAgain, nil)
        case .closed: return (.isRejected, nil)
        }
    }

    /// Admits a caller who has to lead.
    func lead(
        _ key: CacheKey? = nil,
        fence: Int64 = 0,
        rules: RequestRules? = nil,
        check: ContentCheck? = nil
    ) throws -> Fill {
        let (way, fill) = admit(key, fence: fence, rules: rules, check: check)
        #expect(way == .leads)
        return try #require(fill)
    }

    /// Admits a caller who leads, or does without an in-flight fetch.
    func leadAtOnce(seen: UInt32? = nil) -> Fill? {
        admit(as: .leading, seen: seen ?? registry.endedCount(key)).fill
    }

    /// Admits a caller whose fill no other may join.
    func admitAlone(_ key: CacheKey? = nil) -> Fill? {
        admit(key, as: .alone).fill
    }

    /// Makes an in-flight fetch for which no caller waits.
    func admitInBackground(fence: Int64 = 0, rules: RequestRules? = nil, check: ContentCheck? = nil) -> Fill? {
        admit(as: .background, fence: fence, rules: rules, check: check).fill
    }

    /// Claims the right to store a response that is selected by a language.
    func claim(_ fill: Fill, _ language: String = "", isPart: Bool = false, key: CacheKey? = nil) -> Bool {
        var head = Self.head
        if !language.isEmpty { head.selectingFields[.acceptLanguage] = language }
        return registry.claimStoring(fill, key ?? self.key, head, isPart: isPart)
    }

    static let head = StoredResponseHead(
        status: .ok,
        fields: [:],
        requestTime: Timestamp(seconds: 0),
        responseTime: Timestamp(seconds: 0)
    )
}
