package import HTTPCacheSemantics
package import HTTPTypes

/// One caller's exchange, decided: what the store found goes in, what to do comes out. It performs
/// nothing.
///
/// Two questions are answered here and nowhere else: may a stored response answer now
/// (``lookedUp(_:)``), and may it answer after the origin could not (``originFailed(_:)``,
/// ``originAnswered(status:)``).
package struct ExchangeMachine: Sendable {
    /// A stored response that answers, and how the exchange is then described.
    package struct Serve: Sendable {
        package var stored: StoredResponse
        package var freshness: Freshness
        package var outcome: CacheOutcome
        /// To be renewed in the background, so that the next caller is served something newer.
        package var isToBeRefreshed = false
        /// The directive that forbids this, and does not count because an operator says so.
        package var liftedDirective: String?
    }

    /// A request to the origin, and why.
    package struct Fetch: Sendable {
        package var request: HTTPRequest
        /// The stored response that `request` validates; `nil` when it is unconditional or carries
        /// the caller's own conditions.
        package var validating: StoredResponse?
        package var reason: CacheOutcome.ForwardReason
        /// The stored part whose rest `request` asks for. RFC 9111 §3.3
        package var completing: StoredResponse?
        /// The stored response that was selected, whether or not it is validated.
        package var selected: StoredResponse?
        /// Whether ``selected`` may answer where the origin's answer looks wrong.
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
    /// The caller's, bounded by the mode.
    package let preference: CacheRequest.Preference
    package let mode: OfflineMode
    private let now: Timestamp
    /// Until then something may have come that is looked up.
    private var latest: Timestamp
    private let eagerRefresh: Double?
    private var selected: (stored: StoredResponse, reuse: Reuse)?

    /// - Parameters:
    ///   - mode: in place of the request's own, to foresee what another would come to.
    ///   - eagerRefresh: the engine's, where no rule says otherwise.
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

    /// The mode bounds the strategy: `offline` leaves only the store, `preferStored` puts it first.
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

    /// Notes that time has passed since the exchange began: what is looked up again may have come
    /// meanwhile, and is not from the future.
    package mutating func advance(to now: Timestamp) { latest = max(latest, now) }

    /// When a stored response is judged: when the exchange began, or when it came meanwhile.
    private func instant(for head: StoredResponseHead) -> Timestamp {
        head.responseTime <= latest ? max(now, head.responseTime) : now
    }

    /// The key's stored responses, those of the principal's partition before the shared ones.
    package mutating func lookedUp(_ found: [StoredResponse]) -> Action {
        // What an earlier lookup found may be gone.
        selected = nil
        let candidates = counting(found)
        guard let index = select(candidates) else {
            return missed(candidates.isEmpty ? .uriMiss : .varyMiss)
        }
        let stored = candidates[index]
        if case .missing = policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request) {
            // A part that does not hold what is asked for; something else of the key may.
            let others = candidates.filter { $0.id != stored.id }
            return others.isEmpty ? incomplete(stored) : lookedUp(others)
        }
        let reuse = policy.reuse(of: stored.head, for: request, at: instant(for: stored.head))
        selected = (stored, reuse)
        if let recent = recent(stored, reuse) { return .serve(recent) }
        switch preference {
        case .standard:
            switch reuse.decision {
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

    /// A stored response that came, or was validated, so lately that the caller wants no other,
    /// fresh or not: unless something asks for validation before use.
    private func recent(_ stored: StoredResponse, _ reuse: Reuse) -> Serve? {
        guard let reuseWithin, preference != .networkOnly, preference != .storedOnly, stored.head.status.code < 400,
            // A clock that was set back makes nothing recent for ever.
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

    /// Those whose status is stored by what the rules say now.
    private func counting(_ found: [StoredResponse]) -> [StoredResponse] {
        guard let rules, rules.hasOverrides else { return found }
        let isStored = { (stored: StoredResponse) in rules.settings(for: stored.head.fields).stores(stored.head.status)
        }
        return found.allSatisfy(isStored) ? found : found.filter(isStored)
    }

    /// A principal's own stored response goes before one that is in the shared partition only
    /// because nobody in particular asked for it; one that is meant for everybody is ranked with
    /// the principal's.
    private func select(_ candidates: [StoredResponse]) -> Int? {
        if let key = candidates.first?.key, candidates.contains(where: { $0.key != key }) {
            let isOwn = candidates.map { $0.key.components.partition != .shared }
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

    /// The body of the stored response that was to be served is gone: the same question without it.
    package mutating func bodyGone(_ stored: StoredResponse, among candidates: [StoredResponse]) -> Action {
        lookedUp(candidates.filter { $0.id != stored.id })
    }

    /// The origin gave no answer.
    package func originFailed(_ error: any Error) -> Action {
        var error = error
        if let failure = error as? TransportError, let overload = ExchangeError.overloaded(failure) { error = overload }
        if let error = error as? ExchangeError {
            // A cache that is overloaded would answer 503: what may stand in for that stands in
            // here. RFC 5861 §4
            guard error.code == .overloaded,
                var served = originAnswered(status: .serviceUnavailable) ?? usableWithoutPlace
            else { return .refuse(error) }
            served.outcome = CacheOutcome(
                isHit: true,
                timeToLive: served.freshness.secondsToLive,
                detail: .overloaded
            )
            return .serve(served)
        }
        let transportError = error as? TransportError
        guard transportError?.code.isUnreachable == true else {
            return .refuse(
                ExchangeError(
                    code: .transportFailed,
                    message: transportError?.message ?? "The exchange with '\(request.origin)' failed.",
                    status: 502,
                    outcome: CacheOutcome(forward: selected == nil ? .uriMiss : .stale),
                    cause: error
                )
            )
        }
        if preference != .networkOnly, let (stored, reuse) = selected {
            if let usable = usableWithoutOrigin(stored, reuse, isOriginUnreachable: true) { return .serve(usable) }
            if case .forbidden(let directive) = staleUse(reuse) {
                return .refuse(staleForbidden(by: directive, cause: error))
            }
        }
        return .refuse(
            ExchangeError(
                code: .originUnreachable,
                message: transportError?.message ?? "'\(request.origin)' could not be reached.",
                status: transportError.map { Self.status(for: $0.code) } ?? 502,
                outcome: CacheOutcome(forward: selected == nil ? .uriMiss : .stale, detail: .offline),
                cause: error
            )
        )
    }

    /// What answers a caller who wants the network first, and the stored response where it cannot
    /// be had: no place or connection was free for the request.
    private var usableWithoutPlace: Serve? {
        guard preference == .networkFirst, let (stored, reuse) = selected else { return nil }
        return usableWithoutOrigin(stored, reuse)
    }

    /// 502 where an origin hung up or showed no valid certificate: it was there, and what it said
    /// was not valid. 504 where it was silent, or took no connection: so an offline miss has one
    /// status, whether it was the one that tried or the breaker answered it. RFC 9110 §15.6.3,
    /// §15.6.5
    private static func status(for code: TransportError.Code) -> Int {
        code == .connectionClosed || code == .tls ? 502 : 504
    }

    /// The stored response that counts, and what the policy says of it.
    package var considered: (stored: StoredResponse, reuse: Reuse)? { selected }

    /// What to do with a request for an origin that is known to fail.
    package enum Instead {
        /// Nothing speaks against asking.
        case ask
        /// This answers, because the origin failed for the key a moment ago, or counts as away.
        case serve(Serve, isRecent: Bool)
        /// The origin counts as away and nothing stored may answer: this, unless the request may be
        /// the one that tries.
        case refuse(ExchangeError)
    }

    /// What answers where asking would be in vain.
    ///
    /// - Parameters:
    ///   - recent: how the origin failed for the key a moment ago.
    ///   - isOriginUnreachable: whether its breaker is open.
    package func insteadOfAsking(_ recent: FailureThrottle.Failure?, isOriginUnreachable: Bool) -> Instead {
        switch recent {
        case .status(let code):
            if var serve = originAnswered(status: HTTPResponse.Status(code: code)) {
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
        guard trustsBreaker, isOriginUnreachable else { return .ask }
        switch originFailed(unreachableError) {
        case .serve(let serve): return .serve(serve, isRecent: false)
        case .fetch: return .ask
        case .refuse(var refusal):
            // Nobody was asked: an offline miss. docs/architecture.md, "The offline contract"
            refusal.status = 504
            return .refuse(refusal)
        }
    }

    /// Whether what was served is renewed in the background now: who asks the cache alone sends
    /// nothing, content that is read once is the caller's, and an origin that fails is left alone.
    ///
    /// - Parameters:
    ///   - recent: how the origin failed for the key a moment ago.
    ///   - isOriginUnreachable: whether its breaker is open.
    ///   - isReplayable: the request can be sent without its caller.
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
                "'\(request.origin)' could not be reached lately and was not asked again; its return is being looked for."
        )
    }

    /// Whether what the origin has said before the request is no answer to it.
    package var asksOriginFirst: Bool { preference == .networkFirst || preference == .networkOnly }

    /// Whether an origin that counts as away is left alone, instead of being asked each time.
    package var trustsBreaker: Bool { mode == .automatic }

    /// The origin answered with this status: does a stored response answer in its place? RFC 5861
    /// §4
    package func originAnswered(status: HTTPResponse.Status) -> Serve? {
        guard status.isServerFailure, preference != .networkOnly, let (stored, reuse) = selected,
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
        // A fresh one is forbidden, too, where it asks for validation each time.
        served.lift(reuse.liftedDirective)
        return served
    }

    /// May a response that another request brought before this one came, and that is not stored
    /// yet, answer this one? RFC 9111 §4
    package func mayReuse(_ head: StoredResponseHead) -> Bool {
        guard !asksOriginFirst else { return false }
        return switch policy.reuse(of: head, for: request, at: now).decision {
        case .fresh, .staleAllowed: true
        case .staleWhileRevalidate, .validate: false
        }
    }

    /// The origin has not answered for as long as a caller waits: does a stored response answer in
    /// the meantime?
    package func originIsSlow() -> Serve? {
        guard let (stored, reuse) = selected, mayStandIn(stored, reuse) else { return nil }
        var served = serve(stored, reuse)
        served.outcome.detail = .slow
        return served
    }

    /// The origin's answer looks wrong beside the selected response, which answers in its place.
    package func originLooksWrong() -> Serve? {
        guard let (stored, reuse) = selected, mayStandIn(stored, reuse) else { return nil }
        var served = serve(stored, reuse)
        served.outcome = CacheOutcome(
            forward: .stale,
            forwardStatus: 200,
            timeToLive: reuse.freshness.secondsToLive,
            detail: .guarded
        )
        return served
    }

    /// Whether the operator's permission to use stale responses covers this one: the origin and the
    /// caller do not forbid it.
    private func mayStandIn(_ stored: StoredResponse, _ reuse: Reuse) -> Bool {
        // What an operator lifted is lifted for an origin that cannot be reached, and this one can.
        preference != .networkOnly && stored.head.status.code < 400 && reuse.staleUse(isOffline: false) == .allowed
            && reuse.liftedDirective == nil && !stored.head.isInvalidated
    }

    /// Whether the stored response may be used as stale as it is, as far as the mode says.
    private func staleUse(_ reuse: Reuse) -> Reuse.StaleUse { reuse.staleUse(isOffline: mode == .offline) }

    /// Fresh, but for longer than the share of its lifetime that the operator set.
    private func isToBeRefreshed(_ stored: StoredResponse, _ reuse: Reuse) -> Bool {
        guard let age = eagerRefreshAge(stored, reuse.freshness) else { return false }
        return Double(reuse.freshness.age.milliseconds) >= age && !policy.isImmutable(stored.head)
    }

    /// Milliseconds of age from which a stored response is renewed ahead of time; `nil`: not before
    /// it is stale.
    private func eagerRefreshAge(_ stored: StoredResponse, _ freshness: Freshness) -> Double? {
        let share =
            rules.map { $0.settings(for: stored.head.fields).eagerRefresh.resolved(eagerRefresh) } ?? eagerRefresh
        guard let share, stored.head.explicitExpiry == nil else { return nil }
        return Double(freshness.lifetime.milliseconds) * share
    }

    /// The first age in milliseconds at which a stored response that is fresh does not answer in
    /// the same way any more: it is stale, or is to be renewed.
    func changingAge(_ stored: StoredResponse, _ freshness: Freshness) -> Int64 {
        let lifetime = freshness.lifetime.milliseconds
        guard let age = eagerRefreshAge(stored, freshness), !policy.isImmutable(stored.head), age < Double(lifetime)
        else { return lifetime }
        return Int64(age.rounded(.up))
    }

    /// What renews a stored response that was served, as a request of nobody in particular: without
    /// the caller's conditions and ranges.
    ///
    /// - Returns: that request, and what is sent for it.
    package func refresh(of stored: StoredResponse) -> (presented: HTTPRequest, fetch: Fetch) {
        var request = request
        request.headerFields.removeConditionsAndRanges()
        let conditional = request.method.isSafe ? policy.validationRequest(for: stored.head, request: request) : nil
        let fetch = Fetch(
            request: conditional ?? request,
            validating: conditional == nil ? nil : stored,
            reason: .stale,
            selected: stored,
            mayStandIn: true
        )
        return (request, fetch)
    }

    /// The stored response, where it may answer without asking the origin, however stale.
    private func usableWithoutOrigin(
        _ stored: StoredResponse,
        _ reuse: Reuse,
        isOriginUnreachable: Bool = false
    ) -> Serve? {
        let use = staleUse(reuse)
        var isLifted = false
        switch reuse.decision {
        case .fresh: break
        case .staleWhileRevalidate:
            // Nobody renews it where no origin is asked, or none answers: then the operator's limit
            // counts, and an old error is none.
            let isRenewable = !isOriginUnreachable && preference != .storedOnly
            guard isRenewable || (use == .allowed && stored.head.status.code < 400) else { return nil }
        case .staleAllowed:
            // The request's wish does not go beyond the operator's limit where no origin is asked.
            guard use == .allowed else { return nil }
        case .validate:
            // An old error is no answer, however much its fields allow: a stale success is what the
            // network's absence excuses.
            guard use == .allowed, stored.head.status.code < 400 else { return nil }
            isLifted = reuse.liftedDirective != nil
            // An origin that may be there still is asked, as the directive wants it.
            guard !isLifted || isOriginUnreachable || preference == .storedOnly else { return nil }
        }
        var served = serve(stored, reuse)
        // A fresh response needs no excuse; a stale one says that the network is away.
        if isOriginUnreachable || mode == .offline, reuse.decision != .fresh { served.outcome.detail = .offline }
        if isLifted { served.lift(reuse.liftedDirective) }
        return served
    }

    private func serve(_ stored: StoredResponse, _ reuse: Reuse) -> Serve {
        Serve(
            stored: stored,
            freshness: reuse.freshness,
            outcome: CacheOutcome(isHit: true, timeToLive: Self.secondsToLive(stored, reuse))
        )
    }

    /// What is served says so where an unsafe method ended its lifetime early. RFC 9111 §4.4, RFC
    /// 9211 §2.4
    private static func secondsToLive(_ stored: StoredResponse, _ reuse: Reuse) -> Int64 {
        let seconds = reuse.freshness.secondsToLive
        return stored.head.invalidation == .unsafeMethod ? min(seconds, 0) : seconds
    }

    private func validation(of stored: StoredResponse, reason: CacheOutcome.ForwardReason) -> Fetch {
        // For other methods a validator that matches means 412, and no answer. RFC 9110 §13.1.2
        let conditional =
            request.method.isSafe ? policy.validationRequest(for: stored.head, request: request) : nil
        return Fetch(
            request: conditional ?? request,
            validating: conditional == nil ? nil : stored,
            reason: reason,
            selected: stored,
            mayStandIn: selected.map { mayStandIn($0.stored, $0.reuse) } ?? false
        )
    }

    /// Only a part is stored, and not what is asked for: the rest completes it, where it can be
    /// told from which representation it is.
    private func incomplete(_ stored: StoredResponse) -> Action {
        if preference == .storedOnly || policy.isOnlyIfCached(request) { return .refuse(notStored(.partial)) }
        let completion = policy.completionRequest(for: stored.head, bodyLength: stored.bodyLength, request: request)
        return .fetch(
            Fetch(
                request: completion ?? request,
                validating: nil,
                reason: .partial,
                completing: completion == nil ? nil : stored,
                selected: stored
            )
        )
    }

    private func missed(_ reason: CacheOutcome.ForwardReason) -> Action {
        if preference == .storedOnly || policy.isOnlyIfCached(request) { return .refuse(notStored(reason)) }
        return .fetch(Fetch(request: request, validating: nil, reason: reason))
    }

    private func notStored(_ reason: CacheOutcome.ForwardReason? = nil) -> ExchangeError {
        let why = mode == .offline ? "the mode is 'offline'" : "only the store was asked"
        return ExchangeError(
            code: .offlineMiss,
            message: "Nothing usable is stored for '\(request.redactedTarget(secrets))', and \(why). "
                + "Fetch it once while the origin can be reached.",
            status: 504,
            outcome: CacheOutcome(forward: reason, detail: mode == .offline ? .offline : nil)
        )
    }

    private func staleForbidden(by directive: String, cause: (any Error)?) -> ExchangeError {
        let why =
            switch directive {
            case "cookie": "'cookie': it was made for others"
            case "invalidated": "an unsafe method invalidated it"
            case _ where directive.hasPrefix("stale."): "it is staler than '\(directive)' allows"
            default: "'\(directive)'"
            }
        var refusal = ExchangeError(
            code: .staleForbidden,
            message:
                "The stored response for '\(request.redactedTarget(secrets))' may not be used without validation "
                + "(\(why)), "
                + "and the origin \(cause == nil ? "may not be asked" : "could not be reached").",
            status: 504,
            outcome: CacheOutcome(forward: .stale, detail: .offline),
            cause: cause
        )
        refusal.forbiddenBy = directive
        return refusal
    }
}

extension ExchangeMachine.Serve {
    /// Says that a directive that forbids this did not count.
    fileprivate mutating func lift(_ directive: String?) {
        guard let directive else { return }
        liftedDirective = directive
        outcome.detail = .despite(directive)
    }
}

extension Freshness {
    /// RFC 9211 §2.4: seconds, rounded towards the past, so that a stale response never claims 0.
    var secondsToLive: Int64 {
        let milliseconds = timeToLive
        return milliseconds >= 0 || milliseconds % 1000 == 0 ? milliseconds / 1000 : milliseconds / 1000 - 1
    }
}

extension HTTPRequest {
    /// Scheme and authority, for messages.
    var origin: String { "\(scheme ?? "?")://\(authority ?? "?")" }
}

extension ExchangeMachine.Fetch {
    /// The fetch of a request that bypasses the store.
    package init(forwarding request: CacheRequest) {
        self.init(request: request.head, validating: nil, reason: request.forwardReason)
    }
}
