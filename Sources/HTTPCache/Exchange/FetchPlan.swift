import HTTPCacheSemantics
import HTTPTypes

/// A fetch that an exchange decided on: what is sent, and what was stored when that was decided.
///
/// A class, because it is large, and each step of a fetch hands it on.
final class FetchPlan: Sendable {
    /// The facts about the store when a fetch was decided on.
    struct Known: Sendable {
        /// ``ResponseStore/invalidationSequence`` before the lookup.
        var fencingNumber: InvalidationSequence
        /// The stored success for this key and variant, which an error must not replace.
        var success: StoredResponse?
        /// Whether the store could be asked for ``success``: if it failed, there may be one.
        var isWhole = true
        /// All stored successes for this key.
        var variants: [StoredResponse] = []
    }

    let fetch: ReuseMachine.Fetch
    let known: Known

    init(_ fetch: ReuseMachine.Fetch, _ known: Known) {
        self.fetch = fetch
        self.known = known
    }

    /// - Parameters:
    ///   - found: all stored responses of the request's keys.
    ///   - isWhole: whether the store could be asked for all of them.
    convenience init(
        _ fetch: ReuseMachine.Fetch,
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

    /// The same fetch without the cache's validators.
    ///
    /// - Parameters:
    ///   - head: the caller's own.
    ///   - mayStandIn: whether the selected response may be served stale in place of a response
    ///     that looks wrong; `nil` leaves that as it is.
    func unconditional(_ head: HTTPRequest, mayStandIn: Bool? = nil) -> FetchPlan {
        var fetch = fetch
        fetch.request = head
        fetch.validating = nil
        fetch.completing = nil
        if let mayStandIn { fetch.mayStandIn = mayStandIn }
        return FetchPlan(fetch, known)
    }

    /// Whether a success was stored for the key when this was decided, or may have been.
    var replacesStored: Bool { known.success != nil || !known.variants.isEmpty || !known.isWhole }
}
