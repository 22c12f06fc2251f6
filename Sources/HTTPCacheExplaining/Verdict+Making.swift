import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension Explanation.Verdict {
    /// The parts of the verdict that distinguish two outcomes: everything except numbers that
    /// change every second and values derived from other parts.
    var lasting: Explanation.Verdict {
        var lasting = self
        (lasting.status, lasting.isHit, lasting.timeToLive) = (nil, false, nil)
        (lasting.cacheStatus, lasting.summary) = ("", "")
        return lasting
    }

    /// - Parameter status: the status of the stored response as it would be served.
    init(_ outcome: DryRun.Outcome, _ wording: Wording, status: Int?) {
        let cacheOutcome = outcome.cacheOutcome
        let known: Int? =
            switch outcome.course {
            case .serve: status
            case .fetch: nil
            case .pass(_, let status): status.code
            case .refuse(let refusal): refusal.status
            }
        self.init(
            answer: outcome.answer,
            reason: outcome.reason,
            status: known,
            stored: outcome.stored?.id,
            cacheStatus: cacheOutcome.cacheStatus(),
            isHit: cacheOutcome.isHit,
            forward: cacheOutcome.forward?.rawValue,
            timeToLive: cacheOutcome.timeToLive,
            detail: cacheOutcome.detail?.description,
            isRefreshed: outcome.isRefreshed,
            forbiddenBy: outcome.forbiddenBy,
            summary: outcome.summary(wording)
        )
    }
}

/// Translates the machine's results to the terms of a verdict.
extension DryRun.Outcome {
    var answer: Explanation.Verdict.Answer {
        switch course {
        case .serve: .stored
        case .fetch(let fetch): fetch.validating != nil ? .validated : fetch.completing != nil ? .completed : .forwarded
        case .pass: .forwarded
        case .refuse: .refused
        }
    }

    /// The stored response that is served, validated or completed.
    var stored: StoredResponse? {
        switch course {
        case .serve(let serve): serve.stored
        case .fetch(let fetch): fetch.validating ?? fetch.completing
        case .pass, .refuse: nil
        }
    }

    var cacheOutcome: CacheOutcome {
        switch course {
        case .serve(let serve): serve.outcome
        case .fetch(let fetch), .pass(let fetch, _): CacheOutcome(forward: fetch.reason)
        case .refuse(let refusal): refusal.outcome
        }
    }

    var forbiddenBy: String? {
        let use = considered?.reuse.staleUse(isOffline: mode == .offline, isOriginUnreachable: stage != .lookedUp)
        guard case .forbidden(let name) = use else { return nil }
        if case .serve = course { return nil }
        return name
    }

    var reason: Explanation.Verdict.Reason {
        switch course {
        case .serve: servingReason
        case .fetch(let fetch): fetchingReason(fetch.reason)
        case .pass: .originFails
        case .refuse(let refusal): refusingReason(refusal)
        }
    }

    private var servingReason: Explanation.Verdict.Reason {
        switch stage {
        case .recentFailure: return .recentFailure
        case .breakerOpen: return .breakerOpen
        case .asked: return cacheOutcome.isHit ? .unreachable : .staleIfError
        case .lookedUp: break
        }
        if cacheOutcome.detail == .recent { return .recent }
        // The caller's preference allows more than the response does.
        if preference == .staleWhileRevalidate, considered?.reuse.decision != .fresh { return .storedFirst }
        return switch considered?.reuse.decision {
        case .fresh: .fresh
        case .staleAllowed: .maxStale
        case .staleWhileRevalidate: .staleWhileRevalidate
        case .validate, nil: preference == .storedOnly ? .storedOnly : .storedFirst
        }
    }

    private func fetchingReason(_ forward: CacheOutcome.ForwardReason) -> Explanation.Verdict.Reason {
        switch forward {
        case .uriMiss, .miss: return .uriMiss
        case .varyMiss: return .varyMiss
        case .partial: return .partial
        case .method: return .method
        case .bypass: return .bypass
        case .stale, .request: break
        }
        if preference == .networkFirst || preference == .networkOnly { return .networkFirst }
        guard case .validate(let reason) = considered?.reuse.decision else { return .stale }
        return switch reason {
        case .stale: .stale
        case .invalidated: .invalidated
        case .responseNoCache: .responseNoCache
        case .requestNoCache: .requestNoCache
        case .requestMaxAge: .requestMaxAge
        case .requestMinFresh: .requestMinFresh
        case .requestCredentials: .requestCredentials
        case .responseCredentials: .responseCredentials
        }
    }

    private func refusingReason(_ refusal: ExchangeError) -> Explanation.Verdict.Reason {
        switch refusal.code {
        case .offlineMiss: .storedOnly
        case .staleForbidden: .staleForbidden
        case .originUnreachable: stage == .breakerOpen ? .breakerOpen : .unreachable
        default: .other
        }
    }
}
