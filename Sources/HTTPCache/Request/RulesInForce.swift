package import HTTPCacheSemantics

/// The rules and the policy by which an engine reads stored responses now.
///
/// A store's index holds the expiry under the rules that were in force when a response was stored.
/// A listing for operators must agree with what the engine serves, so it asks this value instead.
package struct RulesInForce: Sendable {
    /// The time for which a stored response may be used.
    package struct Use: Sendable, Hashable {
        /// The first instant at which the response is stale: see ``ResponseDraft/freshUntil``.
        package var freshUntil: Timestamp
        /// Whether it may be served stale: see ``ResponseDraft/isUsableStale``.
        package var isUsableStale: Bool
    }

    private let rules: (any ExchangeRules)?
    private let policy: CachePolicy

    /// - Parameters:
    ///   - rules: the rules; `nil` for none.
    ///   - policy: the engine's policy.
    package init(_ rules: (any ExchangeRules)?, _ policy: CachePolicy) {
        self.rules = rules
        self.policy = policy
    }

    /// Returns the time for which a stored response may be used; `nil` if no rule can change it,
    /// because the program stored the response with an expiry.
    package func use(of stored: StoredResponse) -> Use? {
        guard stored.head.explicitExpiry == nil else { return nil }
        let ruled = RuledResponse(stored, rules: rules, policy: policy)
        return Use(freshUntil: ruled.freshUntil, isUsableStale: ruled.isUsableStale)
    }
}
