package import HTTPCacheSemantics
package import HTTPTypes

/// Makes the decisions of one caller's exchange. It takes stored responses and returns the next
/// action, but does not perform it.
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
        /// Whether to renew the response in the background, so that the next caller gets a newer
        /// response.
        package var isToBeRefreshed = false
        /// The reason that would forbid serving this response (a directive, or `invalidated`), but
        /// that the operator overrides.
        package var liftedDirective: String?
    }

    /// A request to the origin, and its reason.
    package struct Fetch: Sendable {
        package var request: HTTPRequest
        /// The stored response that `request` validates; `nil` if the request is unconditional or
        /// has the caller's own conditions.
        package var validating: StoredResponse?
        package var reason: CacheOutcome.ForwardReason
        /// The incomplete stored response that `request` completes. RFC 9111 §3.3
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
    /// The latest plausible time at which a stored response was received.
    private var latest: Timestamp
    private let eagerRefresh: Double?
    /// The selected stored response, and the policy's verdict on it.
    package private(set) var considered: (stored: StoredResponse, reuse: Reuse)?

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
    private func instant(for head: StoredResponseHead) -> Timestamp {
        head.responseTime <= latest ? max(now, head.responseTime) : now
    }

    /// Decides whether to serve one of the key's stored responses.
    ///
    /// - Parameter found: the principal's stored responses, followed by the common responses.
    package mutating func decide(on found: [StoredResponse]) -> Action {
        // The response that an earlier lookup found may no longer exist.
        considered = nil
        let candidates = storedByRules(found)
        guard let index = select(candidates) else {
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
        var served = serve(stored, reuse)
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

    /// Decides what to do after the origin sent no response.
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

    /// The stored response for a caller that prefers the network, if no permit or connection was
    /// free for its request.
    private var usableWithoutPermit: Serve? {
        guard preference == .networkFirst, let (stored, reuse) = considered else { return nil }
        return usableWithoutOrigin(stored, reuse)
    }

    /// Returns the status for a transport failure. RFC 9110 §15.6.3, §15.6.5
    /// - 502: the origin closed the connection, had no valid certificate, or did not send HTTP. It
    ///   was reached, but its response was invalid.
    /// - 504: the origin did not respond, or accepted no connection. An offline miss has the same
    ///   status, whether the request was sent or the breaker refused it.
    private static func status(for code: TransportError.Code) -> Int {
        !code.isUnreachable || code == .connectionClosed || code == .tls ? 502 : 504
    }

    /// The way to handle a request to an origin that may be failing.
    package enum Alternative {
        /// Send the request to the origin, because there is no reason not to.
        case ask
        /// Serve this response, because the origin recently failed for the key, or counts as
        /// unreachable.
        case serve(Serve, isRecent: Bool)
        /// The origin counts as unreachable, and no stored response may be served. Refuse, unless
        /// the request may be the trial.
        case refuse(ExchangeError)
    }

    /// Decides whether to send the request to the origin. If the origin is not expected to respond,
    /// returns the alternative.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether the origin's breaker is open.
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
        // In the other modes, a request is sent even to an origin that counts as unreachable.
        guard mode == .automatic, isOriginUnreachable else { return .ask }
        switch originFailed(unreachableError) {
        case .serve(let serve): return .serve(serve, isRecent: false)
        case .fetch: return .ask
        case .refuse(var refusal):
            // No request was sent, so this is an offline miss. docs/architecture.md, "The offline
            // contract"
            refusal.status = 504
            return .refuse(refusal)
        }
    }

    /// Returns whether to renew a served response in the background now. It is not renewed in these
    /// cases:
    /// - the request may use only the cache, or the mode is `offline`
    /// - the request cannot be sent without its caller
    /// - the origin recently failed or is unreachable
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether the origin's breaker is open.
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

    /// Whether the request is sent to the origin even if a fresh response is stored.
    private var asksOriginFirst: Bool { preference == .networkFirst || preference == .networkOnly }

    /// Returns the stored response to serve instead of the origin's response, if `status` is a
    /// server failure and the stored response may be served; otherwise `nil`. RFC 5861 §4
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
        // Even a fresh response may not be served if it requires validation for every use.
        served.lift(reuse.liftedDirective)
        return served
    }

    /// Returns whether a response that another request received before this request arrived, and
    /// that is not stored yet, may serve this request. RFC 9111 §4
    package func mayReuse(_ head: StoredResponseHead) -> Bool {
        let decision = policy.reuse(of: head, for: request, at: now).decision
        return !asksOriginFirst && (decision == .fresh || decision == .staleAllowed)
    }

    /// Returns the stored response to serve if the origin does not respond within the time that the
    /// caller waits; `nil` if none may be served.
    package func originIsSlow() -> Serve? {
        var served = standIn
        served?.outcome.detail = .slow
        return served
    }

    /// Returns the selected response to serve instead of the origin's response, which looks wrong
    /// compared with it; `nil` if the selected response may not be served.
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

    /// The selected response, if it may be served stale although the origin is reachable. It must
    /// not be an error or invalidated, and neither a directive, a limit nor the caller may forbid
    /// it.
    private var standIn: Serve? {
        // The operator's overrides of directives do not apply here, because the origin is reachable
        // and may still send a good response.
        guard let (stored, reuse) = considered, preference != .networkOnly, stored.head.status.code < 400,
            reuse.staleUse(isOffline: false) == .allowed, reuse.liftedDirective == nil, !stored.head.isInvalidated
        else { return nil }
        return serve(stored, reuse)
    }

    /// Returns whether the mode allows the stored response at its current staleness.
    private func staleUse(_ reuse: Reuse, isOriginUnreachable: Bool = false) -> Reuse.StaleUse {
        reuse.staleUse(isOffline: mode == .offline, isOriginUnreachable: isOriginUnreachable)
    }

    /// Returns whether a response is past the share of its lifetime after which it is renewed.
    private func isToBeRefreshed(_ stored: StoredResponse, _ reuse: Reuse) -> Bool {
        reuse.freshness.age.milliseconds >= changingAge(stored, reuse.freshness)
    }

    /// Returns the age in milliseconds at which a fresh stored response becomes stale or is due for
    /// renewal, whichever is first.
    func changingAge(_ stored: StoredResponse, _ freshness: Freshness) -> Int64 {
        let lifetime = freshness.lifetime.milliseconds
        guard let share = prepared.eagerRefresh(of: stored.head, eagerRefresh), stored.head.explicitExpiry == nil,
            !policy.isImmutable(stored.head)
        else { return lifetime }
        let age = Double(lifetime) * share
        return age < Double(lifetime) ? Int64(age.rounded(.up)) : lifetime
    }

    /// Returns the renewal of a served stored response as a request of its own, without the
    /// caller's conditions and ranges.
    ///
    /// - Returns: the request, and the fetch to send for it.
    package func refresh(of stored: StoredResponse) -> (presented: HTTPRequest, fetch: Fetch) {
        var request = request
        request.headerFields.removeAll { $0.name.asksForPartOrNothing }
        return (request, validation(of: stored, by: request, reason: .stale, mayStandIn: true))
    }

    /// Returns the stored response to serve without the origin, however stale it is; `nil` if that
    /// is not allowed.
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
        var served = serve(stored, reuse)
        // A fresh response needs no justification. A stale response states why the origin did not
        // validate it.
        if reuse.decision != .fresh {
            served.outcome.detail = mode == .offline ? .offline : isOriginUnreachable ? .unreachable : nil
        }
        if reuse.decision == .fresh, prepared.contact == .none { served = withoutContact(served) }
        if isLifted { served.lift(reuse.liftedDirective) }
        return served
    }

    /// Marks a fresh response of a disconnected node, because another node may have purged it.
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

    /// Returns the remaining lifetime to report. It is never positive if an unsafe method
    /// invalidated the response. RFC 9111 §4.4, RFC 9211 §2.4
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
        // For an unsafe method, a matching validator leads to a 412, so there would be no response
        // to use. RFC 9110 §13.1.2
        let conditional = request.method.isSafe ? policy.validationRequest(for: stored.head, request: request) : nil
        return Fetch(
            request: conditional ?? request,
            validating: conditional == nil ? nil : stored,
            reason: reason,
            selected: stored,
            mayStandIn: mayStandIn
        )
    }

    /// Decides about an incomplete stored response without the requested bytes. Requests the rest
    /// to complete it, if the representation can be identified.
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
            case "cookie": "'cookie': the request has a 'Cookie', and the response is not marked as shareable"
            case "credentials":
                "'credentials': it was fetched with credentials, and a rule overrides the directive that allows sharing it"
            case "invalidated": "a successful unsafe request invalidated it"
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
    /// Records the reason that would forbid this response, but that the operator overrides.
    fileprivate mutating func lift(_ directive: String?) {
        guard let directive else { return }
        liftedDirective = directive
        outcome.detail = .despite(directive)
    }
}

extension Freshness {
    /// The time to live in seconds, rounded down, so that a stale response never claims 0. RFC 9211
    /// §2.4
    var secondsToLive: Int64 {
        let milliseconds = timeToLive
        return milliseconds >= 0 || milliseconds % 1000 == 0 ? milliseconds / 1000 : milliseconds / 1000 - 1
    }
}

extension HTTPRequest {
    /// The scheme and authority, for messages.
    var origin: String { "\(scheme ?? "?")://\(authority ?? "?")" }
}

extension ReuseMachine.Fetch {
    /// Creates the fetch for a request that bypasses the store.
    package init(forwarding request: CacheRequest) {
        self.init(request: request.head, validating: nil, reason: request.forwardReason)
    }
}
