package import HTTPCacheSemantics
package import HTTPTypes

/// The decisions of one caller's exchange: stored responses in, next action out. It performs
/// nothing.
///
/// Two questions are decided here and nowhere else: whether a stored response may be served now
/// (``decide(on:)``), and whether it may be served after the origin failed (``originFailed(_:)``,
/// ``originResponded(status:)``).
package struct ReuseMachine: Sendable {
    /// A stored response to serve, and how to describe the exchange.
    package struct Serve: Sendable {
        package var stored: StoredResponse
        package var freshness: Freshness
        package var outcome: CacheOutcome
        /// Whether to renew it in the background, so that the next caller gets a newer one.
        package var isToBeRefreshed = false
        /// The directive that forbids this but that the operator lifted.
        package var liftedDirective: String?
    }

    /// A request to the origin, and its reason.
    package struct Fetch: Sendable {
        package var request: HTTPRequest
        /// The stored response that `request` validates; `nil` if the request is unconditional or
        /// has the caller's own conditions.
        package var validating: StoredResponse?
        package var reason: CacheOutcome.ForwardReason
        /// The stored part that `request` asks to complete. RFC 9111 §3.3
        package var completing: StoredResponse?
        /// The stored response that was selected, whether or not it is validated.
        package var selected: StoredResponse?
        /// Whether ``selected`` may be served if the origin's response looks wrong.
        package var mayStandIn = false
    }

    package enum Action: Sendable {
        case serve(Serve)
        case fetch(Fetch)
        case refuse(ExchangeError)
    }

    private let prepared: PreparedRequest
    private var request: HTTPRequest { prepared.request.head }
    private var secrets: RequestSecrets? { prepared.request.secrets }
    private var policy: CachePolicy { prepared.policy }
    private var rules: RequestRules? { prepared.rules }
    /// Milliseconds.
    private let reuseWithin: Int64?
    /// The caller's preference, restricted by the mode.
    package let preference: CacheRequest.Preference
    package let mode: OfflineMode
    private let now: Timestamp
    /// The latest time at which a response that is looked up may have been received.
    private var latest: Timestamp
    private let eagerRefresh: Double?
    /// The stored response that counts, and the policy's view of it.
    package private(set) var considered: (stored: StoredResponse, reuse: Reuse)?

    /// - Parameters:
    ///   - mode: instead of the request's own, to forecast the result in another mode.
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

    /// Restricts the strategy by the mode: `offline` leaves only the store, `preferStored` puts it
    /// first.
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

    /// Records that time has passed since the exchange began. A response that is looked up again
    /// may have been received in the meantime, and is not from the future.
    package mutating func advance(to now: Timestamp) { latest = max(latest, now) }

    /// The time at which a stored response is judged: when the exchange began, or when the response
    /// was received if that was later.
    private func instant(for head: StoredResponseHead) -> Timestamp {
        head.responseTime <= latest ? max(now, head.responseTime) : now
    }

    /// Decides about the key's stored responses, those in the principal's partition before the
    /// common ones.
    package mutating func decide(on found: [StoredResponse]) -> Action {
        // The response that an earlier lookup found may no longer exist.
        considered = nil
        let candidates = storedByRules(found)
        guard let index = select(candidates) else {
            return decideMiss(candidates.isEmpty ? .uriMiss : .varyMiss)
        }
        let stored = candidates[index]
        if case .missing = policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request) {
            // A part without the requested bytes. Another response of the key may have them.
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
                return .serve(withoutContact(serve(stored, reuse)))
            case .fresh:
                var served = serve(stored, reuse)
                served.isToBeRefreshed = isToBeRefreshed(stored, reuse)
                return .serve(served)
            case .staleAllowed: return .serve(serve(stored, reuse))
            case .staleWhileRevalidate:
                var served = serve(stored, reuse)
                served.outcome.detail = .staleWhileRevalidate
                served.isToBeRefreshed = true
                return .serve(served)
            case .validate(let reason):
                return policy.isOnlyIfCached(request)
                    ? .refuse(notStored()) : .fetch(validation(of: stored, reason: reason.forwardReason))
            }
        case .storedFirst, .staleWhileRevalidate, .storedOnly:
            if var usable = usableWithoutOrigin(stored, reuse) {
                if preference == .staleWhileRevalidate {
                    usable.isToBeRefreshed = reuse.decision == .fresh ? isToBeRefreshed(stored, reuse) : true
                    if reuse.decision != .fresh { usable.outcome.detail = .staleWhileRevalidate }
                }
                return .serve(usable)
            }
            guard preference == .storedOnly || policy.isOnlyIfCached(request) else {
                return .fetch(validation(of: stored, reason: .stale))
            }
            guard case .forbidden(let directive) = staleUse(reuse) else { return .refuse(notStored(.stale)) }
            return .refuse(staleForbidden(by: directive, cause: nil))
        case .networkFirst, .networkOnly:
            return policy.isOnlyIfCached(request)
                ? .refuse(notStored()) : .fetch(validation(of: stored, reason: .request))
        }
    }

    /// Serves a stored response, fresh or not, that was received or validated so recently that the
    /// caller wants no other, unless something requires validation before use.
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
        var served = serve(stored, reuse)
        served.outcome.detail = .recent
        return served
    }

    /// The responses whose status the current rules store.
    private func storedByRules(_ found: [StoredResponse]) -> [StoredResponse] {
        guard let rules, rules.hasOverrides else { return found }
        let isStored = { (stored: StoredResponse) in rules.settings(for: stored.head.fields).stores(stored.head.status)
        }
        return found.allSatisfy(isStored) ? found : found.filter(isStored)
    }

    /// Selects among candidates. A principal's own stored response has priority over one that is in
    /// the common partition only because its request had no principal. A response meant for all
    /// principals ranks with the principal's.
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

    /// The origin gave no response.
    package func originFailed(_ error: any Error) -> Action {
        var error = error
        if let failure = error as? TransportError, let overload = ExchangeError.overloaded(failure) { error = overload }
        if let error = error as? ExchangeError {
            // An overloaded cache would respond with 503, so a stored response that may replace a
            // 503 is served. RFC 5861 §4
            guard error.code == .overloaded,
                var served = originResponded(status: .serviceUnavailable) ?? usableWithoutPermit
            else { return .refuse(error) }
            served.outcome = CacheOutcome(
                isHit: true,
                timeToLive: served.freshness.secondsToLive,
                detail: .overloaded
            )
            return .serve(served)
        }
        let failure = error as? TransportError
        let isUnreachable = failure?.code.isUnreachable == true
        if isUnreachable, preference != .networkOnly, let (stored, reuse) = considered {
            if let usable = usableWithoutOrigin(stored, reuse, isOriginUnreachable: true) { return .serve(usable) }
            if case .forbidden(let directive) = staleUse(reuse, isOriginUnreachable: true) {
                return .refuse(staleForbidden(by: directive, cause: error))
            }
        }
        return .refuse(
            ExchangeError(
                code: isUnreachable ? .originUnreachable : .transportFailed,
                message: failure?.message ?? "The exchange with '\(request.origin)' failed.",
                status: failure.map { Self.status(for: $0.code) } ?? 502,
                outcome: CacheOutcome(
                    forward: considered == nil ? .uriMiss : .stale,
                    detail: isUnreachable ? .unreachable : nil
                ),
                cause: error
            )
        )
    }

    /// The stored response for a caller that wants the network first, if no permit or connection
    /// was free for its request.
    private var usableWithoutPermit: Serve? {
        guard preference == .networkFirst, let (stored, reuse) = considered else { return nil }
        return usableWithoutOrigin(stored, reuse)
    }

    /// 502 if an origin closed the connection, had no valid certificate or did not send HTTP: it
    /// was reached, but its response was invalid. 504 if it did not respond, or accepted no
    /// connection. So an offline miss has one status, whether the request was the one that tried or
    /// the breaker refused it. RFC 9110 §15.6.3, §15.6.5
    private static func status(for code: TransportError.Code) -> Int {
        !code.isUnreachable || code == .connectionClosed || code == .tls ? 502 : 504
    }

    /// How to handle a request for an origin that is known to fail.
    package enum Alternative {
        /// Ask the origin; there is no reason not to.
        case ask
        /// Serve this, because the origin recently failed for the key, or counts as unreachable.
        case serve(Serve, isRecent: Bool)
        /// The origin counts as unreachable, and no stored response may be served. Refuse, unless
        /// the request may be the trial.
        case refuse(ExchangeError)
    }

    /// Decides without asking the origin, if the origin would not respond.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether its breaker is open.
    package func alternativeToAsking(_ recent: FailureThrottle.Failure?, isOriginUnreachable: Bool) -> Alternative {
        switch recent {
        case .status(let code):
            if var serve = originResponded(status: HTTPResponse.Status(code: code)) {
                // Nothing is forwarded now. RFC 9211 §2
                serve.outcome.isHit = true
                serve.outcome.forward = nil
                serve.outcome.forwardStatus = nil
                return .serve(serve, isRecent: true)
            }
        case .unreachable:
            if case .serve(let serve) = originFailed(unreachableError) { return .serve(serve, isRecent: true) }
        case nil: break
        }
        // In the other modes, an origin that counts as unreachable is asked every time.
        guard mode == .automatic, isOriginUnreachable else { return .ask }
        switch originFailed(unreachableError) {
        case .serve(let serve): return .serve(serve, isRecent: false)
        case .fetch: return .ask
        case .refuse(var refusal):
            // No origin was asked: an offline miss. docs/architecture.md, "The offline contract"
            refusal.status = 504
            return .refuse(refusal)
        }
    }

    /// Whether to renew a served response in the background now. A request for the cache only sends
    /// nothing, content that can be read once belongs to the caller, and a failing origin is not
    /// asked.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether its breaker is open.
    ///   - isReplayable: whether the request can be sent without its caller.
    package func isRefreshed(
        _ serve: Serve,
        recent: FailureThrottle.Failure?,
        isOriginUnreachable: Bool,
        isReplayable: Bool
    ) -> Bool {
        serve.isToBeRefreshed && isReplayable && !policy.isOnlyIfCached(request) && mode != .offline && recent == nil
            && !isOriginUnreachable
    }

    private var unreachableError: TransportError {
        TransportError(
            code: .connect,
            message:
                "'\(request.origin)' is unreachable and was not contacted again; it is probed until it responds."
        )
    }

    /// Whether the request asks the origin even if a response is stored.
    private var asksOriginFirst: Bool { preference == .networkFirst || preference == .networkOnly }

    /// The origin responded with this status: the stored response to serve instead, if one may be
    /// served. RFC 5861 §4
    package func originResponded(status: HTTPResponse.Status) -> Serve? {
        guard status.isServerFailure, preference != .networkOnly, let (stored, reuse) = considered,
            stored.head.status.code < 400, reuse.allowsStaleOnError || reuse.freshness.isFresh,
            case .allowed = reuse.staleUse,
            !stored.head.isInvalidated
        else { return nil }
        var served = serve(stored, reuse)
        served.outcome = CacheOutcome(
            forward: .stale,
            forwardStatus: status.code,
            timeToLive: reuse.freshness.secondsToLive,
            detail: .staleIfError
        )
        served.outcome.standsInForError = true
        // Even a fresh response is forbidden if it requires validation each time.
        served.lift(reuse.liftedDirective)
        return served
    }

    /// Whether a response that another request received before this one arrived, and that is not
    /// stored yet, may serve this request. RFC 9111 §4
    package func mayReuse(_ head: StoredResponseHead) -> Bool {
        let decision = policy.reuse(of: head, for: request, at: now).decision
        return !asksOriginFirst && (decision == .fresh || decision == .staleAllowed)
    }

    /// The origin has not responded for as long as a caller waits: the stored response to serve in
    /// the meantime, if one may be served.
    package func originIsSlow() -> Serve? {
        var served = standIn
        served?.outcome.detail = .slow
        return served
    }

    /// The origin's response looks wrong compared with the selected response, which is served
    /// instead.
    package func originLooksWrong() -> Serve? {
        guard var served = standIn else { return nil }
        served.outcome = CacheOutcome(
            forward: .stale,
            forwardStatus: 200,
            timeToLive: served.freshness.secondsToLive,
            detail: .guarded
        )
        return served
    }

    /// The selected response, if the operator's permission to serve stale covers it: neither the
    /// origin nor the caller forbids it.
    private var standIn: Serve? {
        // An operator lifts a directive only for an unreachable origin, and this one is reachable.
        guard let (stored, reuse) = considered, preference != .networkOnly, stored.head.status.code < 400,
            reuse.staleUse(isOffline: false) == .allowed, reuse.liftedDirective == nil, !stored.head.isInvalidated
        else { return nil }
        return serve(stored, reuse)
    }

    /// Whether the mode allows using the stored response at its current staleness.
    private func staleUse(_ reuse: Reuse, isOriginUnreachable: Bool = false) -> Reuse.StaleUse {
        reuse.staleUse(isOffline: mode == .offline, isOriginUnreachable: isOriginUnreachable)
    }

    /// Whether a fresh response has used up the share of its lifetime that the operator set.
    private func isToBeRefreshed(_ stored: StoredResponse, _ reuse: Reuse) -> Bool {
        reuse.freshness.age.milliseconds >= changingAge(stored, reuse.freshness)
    }

    /// The first age in milliseconds at which a fresh stored response is served differently: it is
    /// stale, or should be renewed.
    func changingAge(_ stored: StoredResponse, _ freshness: Freshness) -> Int64 {
        let lifetime = freshness.lifetime.milliseconds
        guard let share = prepared.eagerRefresh(of: stored.head, eagerRefresh), stored.head.explicitExpiry == nil,
            !policy.isImmutable(stored.head)
        else { return lifetime }
        let age = Double(lifetime) * share
        return age < Double(lifetime) ? Int64(age.rounded(.up)) : lifetime
    }

    /// The renewal of a served stored response, as a request without a caller: without the caller's
    /// conditions and ranges.
    ///
    /// - Returns: that request, and the fetch to send for it.
    package func refresh(of stored: StoredResponse) -> (presented: HTTPRequest, fetch: Fetch) {
        var request = request
        request.headerFields.removeAll { $0.name.asksForPartOrNothing }
        return (request, validation(of: stored, by: request, reason: .stale, mayStandIn: true))
    }

    /// Serves the stored response if it may be served without asking the origin, however stale.
    private func usableWithoutOrigin(
        _ stored: StoredResponse,
        _ reuse: Reuse,
        isOriginUnreachable: Bool = false
    ) -> Serve? {
        let use = staleUse(reuse, isOriginUnreachable: isOriginUnreachable)
        var isLifted = false
        switch reuse.decision {
        case .fresh: break
        case .staleWhileRevalidate:
            // If no origin is asked, or none responds, no request renews it. Then the operator's
            // limit applies, and an old error may not be served.
            let isRenewable = !isOriginUnreachable && preference != .storedOnly
            guard isRenewable || (use == .allowed && stored.head.status.code < 400) else { return nil }
        case .staleAllowed:
            // If no origin is asked, the request's permission cannot exceed the operator's limit.
            guard use == .allowed else { return nil }
        case .validate:
            // An old error is not served, whatever its fields allow: an unreachable network
            // justifies only a stale success.
            guard use == .allowed, stored.head.status.code < 400 else { return nil }
            isLifted = reuse.liftedDirective != nil
            // An origin that may still be reachable is asked, as the directive requires.
            guard !isLifted || isOriginUnreachable || preference == .storedOnly else { return nil }
        }
        var served = serve(stored, reuse)
        // A fresh response needs no justification; a stale one states why the origin did not
        // validate it.
        if reuse.decision != .fresh {
            served.outcome.detail = mode == .offline ? .offline : isOriginUnreachable ? .unreachable : nil
        }
        if reuse.decision == .fresh, prepared.contact == .none { served = withoutContact(served) }
        if isLifted { served.lift(reuse.liftedDirective) }
        return served
    }

    /// A fresh response from a disconnected node is marked as such, because another node may have
    /// purged it.
    private func withoutContact(_ serve: Serve) -> Serve {
        var served = serve
        served.outcome.detail = .cutOff
        return served
    }

    private func serve(_ stored: StoredResponse, _ reuse: Reuse) -> Serve {
        Serve(
            stored: stored,
            freshness: reuse.freshness,
            outcome: CacheOutcome(isHit: true, timeToLive: Self.secondsToLive(stored, reuse))
        )
    }

    /// The remaining lifetime to report. It is not positive if an unsafe method ended the
    /// response's lifetime early. RFC 9111 §4.4, RFC 9211 §2.4
    private static func secondsToLive(_ stored: StoredResponse, _ reuse: Reuse) -> Int64 {
        let seconds = reuse.freshness.secondsToLive
        return stored.head.invalidation == .unsafeMethod ? min(seconds, 0) : seconds
    }

    private func validation(of stored: StoredResponse, reason: CacheOutcome.ForwardReason) -> Fetch {
        validation(of: stored, by: request, reason: reason, mayStandIn: standIn != nil)
    }

    private func validation(
        of stored: StoredResponse,
        by request: HTTPRequest,
        reason: CacheOutcome.ForwardReason,
        mayStandIn: Bool
    ) -> Fetch {
        // For other methods a matching validator means 412, so there would be no response to use.
        // RFC 9110 §13.1.2
        let conditional = request.method.isSafe ? policy.validationRequest(for: stored.head, request: request) : nil
        return Fetch(
            request: conditional ?? request,
            validating: conditional == nil ? nil : stored,
            reason: reason,
            selected: stored,
            mayStandIn: mayStandIn
        )
    }

    /// Only a part is stored, without the requested bytes. Requests the rest to complete it, if its
    /// representation can be identified.
    private func decideIncomplete(_ stored: StoredResponse) -> Action {
        if preference == .storedOnly || policy.isOnlyIfCached(request) { return .refuse(notStored(.partial)) }
        let completion = policy.completionRequest(for: stored.head, bodyLength: stored.bodyLength, request: request)
        return .fetch(
            Fetch(
                request: completion ?? request,
                reason: .partial,
                completing: completion == nil ? nil : stored,
                selected: stored
            )
        )
    }

    private func decideMiss(_ reason: CacheOutcome.ForwardReason) -> Action {
        if preference == .storedOnly || policy.isOnlyIfCached(request) { return .refuse(notStored(reason)) }
        return .fetch(Fetch(request: request, validating: nil, reason: reason))
    }

    private func notStored(_ reason: CacheOutcome.ForwardReason? = nil) -> ExchangeError {
        let why = mode == .offline ? "the mode is 'offline'" : "the request may use only the store"
        return ExchangeError(
            code: .offlineMiss,
            message: "No usable response is stored for '\(request.redactedTarget(secrets))', and \(why). "
                + "Request it once while the origin is reachable.",
            status: 504,
            outcome: CacheOutcome(forward: reason, detail: mode == .offline ? .offline : nil)
        )
    }

    private func staleForbidden(by directive: String, cause: (any Error)?) -> ExchangeError {
        let why =
            switch directive {
            case "cookie": "'cookie': it was made for another client"
            case "credentials":
                "'credentials': it answered a request with credentials, and a rule overrides the directive that shares it"
            case "invalidated": "an unsafe method invalidated it"
            case _ where directive.hasPrefix("stale."): "it is staler than '\(directive)' allows"
            default: "'\(directive)'"
            }
        return ExchangeError(
            code: .staleForbidden,
            message:
                "The stored response for '\(request.redactedTarget(secrets))' may not be used without validation "
                + "(\(why)), "
                + "and the origin \(cause == nil ? "may not be contacted" : "is unreachable").",
            status: 504,
            outcome: CacheOutcome(
                forward: .stale,
                detail: mode == .offline ? .offline : cause == nil ? nil : .unreachable
            ),
            cause: cause,
            forbiddenBy: directive
        )
    }
}

extension ReuseMachine.Serve {
    /// Records that a directive that forbids this was lifted.
    fileprivate mutating func lift(_ directive: String?) {
        guard let directive else { return }
        liftedDirective = directive
        outcome.detail = .despite(directive)
    }
}

extension Freshness {
    /// RFC 9211 §2.4: seconds, rounded down, so that a stale response never claims 0.
    var secondsToLive: Int64 {
        let milliseconds = timeToLive
        return milliseconds >= 0 || milliseconds % 1000 == 0 ? milliseconds / 1000 : milliseconds / 1000 - 1
    }
}

extension HTTPRequest {
    /// Scheme and authority, for messages.
    var origin: String { "\(scheme ?? "?")://\(authority ?? "?")" }
}

extension ReuseMachine.Fetch {
    /// The fetch of a request that bypasses the store.
    package init(forwarding request: CacheRequest) {
        self.init(request: request.head, validating: nil, reason: request.forwardReason)
    }
}
