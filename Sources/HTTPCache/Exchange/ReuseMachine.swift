package import HTTPCacheSemantics
import HTTPTypes

/// Makes the decisions of one caller's exchange. It takes stored responses and returns the next
/// ``Action``, but does not perform it.
///
/// Two questions are decided here and nowhere else: whether a stored response may be served now
/// (``decide(on:)``), and whether it may be served after the origin failed (``originFailed(_:)``,
/// ``originResponded(status:)``).
package struct ReuseMachine: Sendable {
    let prepared: PreparedRequest
    var request: HTTPRequest { prepared.request.head }
    var policy: CachePolicy { prepared.policy }
    private var rules: RequestRules? { prepared.rules }
    /// Milliseconds.
    private let reuseWithin: Int64?
    /// The caller's preference, restricted by the mode.
    package let preference: CacheRequest.Preference
    package let mode: OfflineMode
    private let now: Timestamp
    /// The latest plausible time at which a stored response was received.
    private var latest: Timestamp
    let eagerRefresh: Double?
    /// The selected stored response, and the policy's verdict on it.
    package private(set) var considered: (stored: StoredResponse, reuse: Reuse)?
    /// The stored responses, if none of them matches.
    private(set) var unmatched: [StoredResponse] = []

    /// - Parameters:
    ///   - mode: replaces the request's own mode, to forecast the result in another mode.
    ///   - eagerRefresh: the engine's setting, unless a rule overrides it.
    package init(
        _ prepared: PreparedRequest,
        mode: OfflineMode? = nil,
        now: Timestamp,
        eagerRefresh: Double? = nil
    ) {
        let mode = mode ?? prepared.mode
        self.prepared = prepared
        self.reuseWithin = prepared.request.reuseWithin?.clampedMilliseconds
        self.preference = Self.bounded(prepared.request.preference, by: mode)
        self.mode = mode
        self.now = now
        latest = now
        self.eagerRefresh = eagerRefresh
    }

    /// Returns the preference as restricted by the mode: `offline` allows only the store, and
    /// `preferStored` uses the store first.
    private static func bounded(
        _ preference: CacheRequest.Preference,
        by mode: OfflineMode
    ) -> CacheRequest.Preference {
        switch (mode, preference) {
        case (.offline, _): .storedOnly
        case (.preferStored, .standard), (.preferStored, .networkFirst), (.preferStored, .staleWhileRevalidate):
            .storedFirst
        default: preference
        }
    }

    /// Records that time has passed since the exchange began. A later lookup may find a response
    /// that was received in the meantime, which is not a response from the future.
    package mutating func advance(to now: Timestamp) { latest = max(latest, now) }

    /// Returns the time at which a stored response is judged: the start of the exchange, or the
    /// time at which the response was received if that was later.
    func instant(for head: StoredResponseHead) -> Timestamp {
        head.responseTime <= latest ? max(now, head.responseTime) : now
    }

    /// Decides whether to serve one of the key's stored responses.
    ///
    /// - Parameter found: the principal's stored responses, followed by the common responses.
    package mutating func decide(on found: [StoredResponse]) -> Action {
        // The response that an earlier lookup found may no longer exist.
        considered = nil
        unmatched = []
        let candidates = storedByRules(found)
        guard let index = select(candidates) else {
            unmatched = candidates
            if mode == .offline, let action = useOtherCoding(cause: nil) { return action }
            return decideMiss(candidates.isEmpty ? .uriMiss : .varyMiss)
        }
        let stored = candidates[index]
        if case .missing = policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request) {
            // The response is a part without the requested bytes. Another response of the key may
            // have them.
            let others = candidates.filter { $0.id != stored.id }
            return others.isEmpty ? decideIncomplete(stored) : decide(on: others)
        }
        let reuse = policy.reuse(of: stored.head, for: request, at: instant(for: stored.head))
        considered = (stored, reuse)
        if let recent = recent(stored, reuse) { return .serve(recent) }
        switch preference {
        case .standard:
            switch reuse.decision {
            case .fresh where prepared.contact == .none:
                guard policy.isOnlyIfCached(request) else { return .fetch(validation(of: stored, reason: .stale)) }
                return .serve(Serve(stored, reuse).withoutContact)
            case .fresh:
                var served = Serve(stored, reuse)
                served.isToBeRefreshed = isToBeRefreshed(stored, reuse)
                return .serve(served)
            case .staleAllowed: return .serve(Serve(stored, reuse))
            case .staleWhileRevalidate:
                var served = Serve(stored, reuse)
                served.outcome.detail = .staleWhileRevalidate
                served.isToBeRefreshed = true
                return .serve(served)
            case .validate(let reason):
                return policy.isOnlyIfCached(request)
                    ? .refuse(.validationForbidden(prepared.request))
                    : .fetch(validation(of: stored, reason: reason.forwardReason))
            }
        case .storedFirst, .staleWhileRevalidate, .storedOnly:
            if var usable = usableWithoutOrigin(stored, reuse) {
                if preference == .staleWhileRevalidate {
                    usable.isToBeRefreshed = reuse.decision == .fresh ? isToBeRefreshed(stored, reuse) : true
                    if reuse.decision != .fresh { usable.outcome.detail = .staleWhileRevalidate }
                }
                return .serve(usable)
            }
            guard mayOnlyUseStored else { return .fetch(validation(of: stored, reason: .stale)) }
            guard case .forbidden(let directive) = staleUse(reuse) else { return .refuse(notStored(.stale)) }
            return .refuse(staleForbidden(by: directive))
        case .networkFirst, .networkOnly:
            return policy.isOnlyIfCached(request)
                ? .refuse(notStored()) : .fetch(validation(of: stored, reason: .request))
        }
    }

    /// Returns a stored response, fresh or not, that was received or validated within the time that
    /// the caller allows; `nil` if something requires validation before use.
    private func recent(_ stored: StoredResponse, _ reuse: Reuse) -> Serve? {
        guard let reuseWithin, preference != .networkOnly, preference != .storedOnly, stored.head.status.code < 400,
            // A clock that was set back must not make a response recent indefinitely.
            reuseWithin >= 0, now.milliseconds(since: stored.head.responseTime).magnitude <= reuseWithin.magnitude
        else { return nil }
        switch reuse.decision {
        case .fresh where !asksOriginFirst: return nil
        case .fresh, .staleAllowed, .staleWhileRevalidate: break
        case .validate(.stale):
            guard reuse.staleUse(isOffline: false) == .allowed, reuse.liftedDirective == nil,
                !policy.asksForValidation(request, at: reuse.freshness.age.milliseconds)
            else { return nil }
        case .validate: return nil
        }
        var served = Serve(stored, reuse)
        served.outcome.detail = .recent
        return served
    }

    /// Returns the responses whose status the current rules allow to be stored.
    private func storedByRules(_ found: [StoredResponse]) -> [StoredResponse] {
        guard let rules, rules.hasOverrides else { return found }
        let isStored = { (stored: StoredResponse) in rules.settings(for: stored.head.fields).stores(stored.head.status)
        }
        return found.allSatisfy(isStored) ? found : found.filter(isStored)
    }

    /// Selects one of the candidates. A principal's own response has priority over a response that
    /// is in the common partition only because its request had no principal. A response that is
    /// meant for all principals has the same rank as the principal's own.
    private func select(_ candidates: [StoredResponse]) -> Int? {
        if let key = candidates.first?.key, candidates.contains(where: { $0.key != key }) {
            let isOwn = candidates.map { $0.key.components.partition != .common }
            if isOwn.contains(true) {
                let preferred = candidates.indices.filter { isOwn[$0] || policy.allowsSharing(candidates[$0].head) }
                let index = policy.selectVariant(among: preferred.count, for: prepared.selecting, at: now) {
                    candidates[preferred[$0]].head
                }
                if let index { return preferred[index] }
            }
        }
        return policy.selectVariant(among: candidates.count, for: prepared.selecting, at: now) { candidates[$0].head }
    }

    /// Returns whether a response that another request received before this request arrived, and
    /// that is not stored yet, may serve this request. RFC 9111 §4
    package func mayReuse(_ head: StoredResponseHead) -> Bool {
        if prepared.sharesArrivingResponses { return true }
        let decision = policy.reuse(of: head, for: request, at: now).decision
        return !asksOriginFirst && (decision == .fresh || decision == .staleAllowed)
    }

    /// Returns the stored response to serve without the origin, however stale it is; `nil` if that
    /// is not allowed.
    func usableWithoutOrigin(
        _ stored: StoredResponse,
        _ reuse: Reuse,
        isOriginUnreachable: Bool = false
    ) -> Serve? {
        let use = staleUse(reuse, isOriginUnreachable: isOriginUnreachable)
        var isLifted = false
        switch reuse.decision {
        case .fresh: break
        case .staleWhileRevalidate:
            // If no request is sent, or the origin does not respond, the response is not renewed:
            // the operator's limit applies, and an old error may not be served.
            let isRenewable = !isOriginUnreachable && preference != .storedOnly
            guard isRenewable || (use == .allowed && stored.head.status.code < 400) else { return nil }
        case .staleAllowed:
            // Without the origin, the request's permission cannot exceed the operator's limit.
            guard use == .allowed else { return nil }
        case .validate:
            // An old error is not served, whatever its fields allow: an unreachable network
            // justifies only a stale success.
            guard use == .allowed, stored.head.status.code < 400 else { return nil }
            isLifted = reuse.liftedDirective != nil
            // If the origin may still be reachable, the response is validated, as the directive
            // requires.
            guard !isLifted || isOriginUnreachable || preference == .storedOnly else { return nil }
        }
        var served = Serve(stored, reuse)
        // A fresh response needs no justification. A stale response states why the origin did not
        // validate it.
        if reuse.decision != .fresh {
            served.outcome.detail = mode == .offline ? .offline : isOriginUnreachable ? .unreachable : nil
        }
        if reuse.decision == .fresh, prepared.contact == .none { served = served.withoutContact }
        if isLifted { served.lift(reuse.liftedDirective) }
        return served
    }

    /// The selected response, if it may be served stale although the origin is reachable. It must
    /// not be an error or invalidated, and neither a directive, a limit nor the caller may forbid
    /// it.
    var standIn: Serve? {
        // The operator's overrides of directives do not apply here, because the origin is reachable
        // and may still send a good response.
        guard let (stored, reuse) = considered, preference != .networkOnly, stored.head.status.code < 400,
            reuse.staleUse(isOffline: false) == .allowed, reuse.liftedDirective == nil, !stored.head.isInvalidated
        else { return nil }
        return Serve(stored, reuse)
    }

    /// Returns whether the mode allows the stored response at its current staleness.
    func staleUse(_ reuse: Reuse, isOriginUnreachable: Bool = false) -> Reuse.StaleUse {
        reuse.staleUse(isOffline: mode == .offline, isOriginUnreachable: isOriginUnreachable)
    }

    private func validation(of stored: StoredResponse, reason: CacheOutcome.ForwardReason) -> PlannedFetch {
        PlannedFetch(validating: stored, by: request, policy, reason: reason, mayStandIn: standIn != nil)
    }

    /// Decides about an incomplete stored response without the requested bytes. Requests the rest
    /// to complete it, if the representation can be identified.
    private func decideIncomplete(_ stored: StoredResponse) -> Action {
        if mayOnlyUseStored { return .refuse(notStored(.partial)) }
        let completion = policy.completionRequest(for: stored.head, bodyLength: stored.bodyLength, request: request)
        return .fetch(
            PlannedFetch(
                request: completion ?? request,
                reason: .partial,
                completing: completion == nil ? nil : stored,
                selected: stored
            )
        )
    }

    private func decideMiss(_ reason: CacheOutcome.ForwardReason) -> Action {
        mayOnlyUseStored ? .refuse(notStored(reason)) : .fetch(PlannedFetch(request: request, reason: reason))
    }

    /// Whether the request is sent to the origin even if a fresh response is stored.
    var asksOriginFirst: Bool { preference == .networkFirst || preference == .networkOnly }

    /// Whether the request must not be sent to the origin.
    private var mayOnlyUseStored: Bool { preference == .storedOnly || policy.isOnlyIfCached(request) }

    private func notStored(_ reason: CacheOutcome.ForwardReason? = nil) -> ExchangeError {
        .offlineMiss(prepared.request, mode: mode, reason)
    }

    func staleForbidden(by directive: String, cause: (any Error)? = nil) -> ExchangeError {
        .staleForbidden(prepared.request, by: directive, mode: mode, cause: cause)
    }
}
