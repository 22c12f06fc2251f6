import HTTPCacheSemantics
import HTTPTypes

/// A fetch that an exchange decided on: what is sent, and what was stored when that was decided.
///
/// A class, because it is large, and each step of a fetch hands it on.
final class FetchPlan: Sendable {
    let fetch: ExchangeMachine.Fetch
    /// ``ResponseStore/invalidationSequence`` before the lookup.
    let fence: InvalidationSequence
    /// The stored success for this key and variant.
    let storedSuccess: StoredResponse?
    /// Whether the store could be asked for ``storedSuccess``.
    let knowsStored: Bool
    /// All stored successes for this key.
    let storedVariants: [StoredResponse]

    init(
        _ fetch: ExchangeMachine.Fetch,
        fence: InvalidationSequence,
        storedSuccess: StoredResponse? = nil,
        knowsStored: Bool = true,
        storedVariants: [StoredResponse] = []
    ) {
        self.fetch = fetch
        self.fence = fence
        self.storedSuccess = storedSuccess
        self.knowsStored = knowsStored
        self.storedVariants = storedVariants
    }

    /// - Parameters:
    ///   - found: all stored responses of the request's keys.
    ///   - isWhole: whether the store could be asked for all of them.
    convenience init(
        _ fetch: ExchangeMachine.Fetch,
        _ found: [StoredResponse],
        isWhole: Bool,
        fence: InvalidationSequence,
        for prepared: PreparedRequest
    ) {
        let successes = found.filter { $0.head.status.code < 400 }
        self.init(
            fetch,
            fence: fence,
            storedSuccess: successes.first { prepared.policy.matchesVariant($0.head, prepared.selecting) },
            knowsStored: isWhole,
            storedVariants: successes
        )
    }

    /// The same fetch without the cache's validators.
    ///
    /// - Parameters:
    ///   - head: the caller's own.
    ///   - mayStandIn: whether the selected response may stand in for a response that looks wrong;
    ///     `nil` leaves that as it is.
    func unconditional(_ head: HTTPRequest, mayStandIn: Bool? = nil) -> FetchPlan {
        var fetch = fetch
        fetch.request = head
        fetch.validating = nil
        fetch.completing = nil
        if let mayStandIn { fetch.mayStandIn = mayStandIn }
        return FetchPlan(
            fetch,
            fence: fence,
            storedSuccess: storedSuccess,
            knowsStored: knowsStored,
            storedVariants: storedVariants
        )
    }

    /// Whether a success was stored for the key when this was decided, or may have been.
    var replacesStored: Bool { storedSuccess != nil || !storedVariants.isEmpty || !knowsStored }
}
