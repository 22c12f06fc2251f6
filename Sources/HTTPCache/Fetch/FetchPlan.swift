import HTTPCacheSemantics
import HTTPTypes

/// A fetch that an exchange decided to make: the request to send, and the store's state at the time
/// of the decision.
///
/// A class, because it is large and is passed through each step of a fetch.
final class FetchPlan: Sendable {
    /// The store's state when the exchange decided to fetch.
    struct Known: Sendable {
        /// ``ResponseStore/invalidationSequence`` before the lookup.
        var fencingNumber: InvalidationSequence
        /// The stored success for this key and variant, which an error must not replace.
        var success: StoredResponse?
        /// Whether the store could be read. If not, ``success`` may be `nil` although a success is
        /// stored.
        var isWhole = true
        /// All stored successes for this key.
        var variants: [StoredResponse] = []
    }

    let fetch: PlannedFetch
    let known: Known

    init(_ fetch: PlannedFetch, _ known: Known) {
        self.fetch = fetch
        self.known = known
    }

    /// - Parameters:
    ///   - found: all stored responses for the request's keys.
    ///   - isWhole: whether the store could return all of them.
    convenience init(
        _ fetch: PlannedFetch,
        _ found: [StoredResponse],
        isWhole: Bool,
        fencingNumber: InvalidationSequence,
        for prepared: PreparedRequest
    ) {
        var known = Known(fencingNumber: fencingNumber, isWhole: isWhole)
        known.variants = found.filter { $0.head.status.code < 400 }
        var matcher = VariantMatcher(prepared.policy, prepared.selecting)
        known.success = known.variants.first { matcher.matches($0.head) }
        self.init(fetch, known)
    }

    /// Returns the same fetch without the cache's validators.
    ///
    /// - Parameters:
    ///   - head: the caller's own head.
    ///   - mayStandIn: whether the selected response may be served instead of a response that looks
    ///     wrong; `nil` keeps the current value.
    func unconditional(_ head: HTTPRequest, mayStandIn: Bool? = nil) -> FetchPlan {
        var fetch = fetch
        fetch.request = head
        fetch.validating = nil
        fetch.completing = nil
        if let mayStandIn { fetch.mayStandIn = mayStandIn }
        return FetchPlan(fetch, known)
    }

    /// Whether a success was, or may have been, stored for the key at the time of the decision.
    var replacesStored: Bool { known.success != nil || !known.variants.isEmpty || !known.isWhole }
}
