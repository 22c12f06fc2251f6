import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Creates sentences for people.
extension DryRun.Outcome {
    func summary(_ wording: Wording) -> String {
        switch course {
        case .serve(let serve):
            "Would be served from the store: \(servedSentence(serve, wording))\(liftedClause(serve, wording))."
        case .fetch(let fetch) where fetch.validating != nil:
            "Would be validated with the origin: \(fetchClause(fetch, wording))."
        case .fetch(let fetch) where fetch.completing != nil:
            "Would be completed from the origin: the stored part does not contain all requested bytes."
        case .fetch(let fetch):
            "Would be forwarded to the origin: \(fetchClause(fetch, wording))."
        case .pass(_, let status):
            "Would return the origin's \(status.code): \(passedOnReason(wording))."
        case .refuse(let refusal):
            "Would fail with \(refusal.status): \(rejectedReason(refusal, wording))."
        }
    }

    // MARK: Served

    private func servedSentence(_ serve: ReuseMachine.Serve, _ wording: Wording) -> String {
        let state = state(serve.stored, serve.freshness)
        switch reason {
        case .fresh:
            let refreshed = isRefreshed ? ", and already being renewed in the background" : ""
            return "\(state) (\(wording.lifetime(of: serve.stored.head)))\(refreshed)"
        case .maxStale: return "\(state), which the request's 'max-stale' allows"
        case .staleWhileRevalidate:
            return "\(state), which 'stale-while-revalidate' allows\(wording.rule(of: ["stale.while-revalidate"]))"
                + (isRefreshed ? ", and renewed in the background" : "")
        case .recent:
            return "\(state), because it was received or validated recently enough for the caller"
        case .staleIfError:
            return "\(state), instead of the origin's 503, as \(errorPermission(wording)) allows"
        case .unreachable: return "\(state), because the origin cannot be reached"
        case .breakerOpen: return "\(state), because the origin's circuit breaker is open"
        case .recentFailure: return "\(state), because the origin failed moments ago and is not retried yet"
        case .storedOnly where mode == .offline: return "\(state), because \(wording.mode(mode))"
        case .storedOnly: return "\(state), because only the store may be used"
        default:
            return "\(state), because " + (mode == .preferStored ? wording.mode(mode) : "the caller prefers it")
                + (isRefreshed ? ", and renewed in the background" : "")
        }
    }

    /// Returns the directive, rule or operator's extension that allows a stale response in place of
    /// an error.
    private func errorPermission(_ wording: Wording) -> String {
        guard let (stored, reuse) = considered else { return "'stale-if-error'" }
        if reuse.isExtendedOnError { return "a temporary extension by an operator ('holdfast staleness')" }
        let isRules = wording.coversErrors(stored.head, reuse.freshness)
        return isRules ? "'stale.on-error'\(wording.rule(of: ["stale.on-error"]))" : "'stale-if-error'"
    }

    private func liftedClause(_ serve: ReuseMachine.Serve, _ wording: Wording) -> String {
        serve.liftedDirective.map { "; '\($0)' is overridden\(wording.rule(of: ["stale.ignore"]))" } ?? ""
    }

    private func state(_ stored: StoredResponse, _ freshness: Freshness) -> String {
        if stored.head.isInvalidated { return "invalidated" }
        guard freshness.isFresh else { return staleness(freshness, "stale for", orElse: "just stale") }
        return freshness.lifetime.milliseconds == .max
            ? "fresh forever" : "fresh for another \(Words.duration(freshness.millisecondsToLive))"
    }

    // MARK: Fetched

    private func fetchClause(_ fetch: PlannedFetch, _ wording: Wording) -> String {
        let why = fetchReason(fetch, wording)
        guard fetch.validating == nil, fetch.selected != nil, fetch.completing == nil, reason != .partial else {
            return why
        }
        return why + "; it has no validator"
    }

    private func fetchReason(_ fetch: PlannedFetch, _ wording: Wording) -> String {
        switch reason {
        case .uriMiss: return missReason(.uriMiss, wording)
        case .varyMiss: return missReason(.varyMiss, wording)
        case .partial: return "the stored part does not contain all requested bytes"
        case .method: return "the method or the content rules out a stored response"
        case .bypass:
            return "the request bypasses the store\(wording.rule(of: ["bypass", "store.methods"]))"
        case .invalidated: return "the stored response was invalidated"
        case .responseNoCache: return "the fields of the stored response require validation before each use"
        case .requestNoCache: return "the request has 'no-cache'"
        case .requestMaxAge: return "the stored response is older than the request's 'max-age' allows"
        case .requestMinFresh: return "the stored response is fresh for less than the request's 'min-fresh'"
        case .requestCredentials: return Words.cookie
        case .responseCredentials:
            return
                "the stored response was fetched with credentials, and a rule overrides the directive that allows sharing it"
        case .networkFirst: return "the caller prefers the network"
        default: break
        }
        guard let (stored, reuse) = considered else { return "nothing usable is stored" }
        let since = staleness(
            reuse.freshness,
            "the stored response has been stale for",
            orElse: "the stored response has just become stale"
        )
        return "\(since) (\(wording.lifetime(of: stored.head)))\(notServedFirstClause(stored, reuse, wording))"
    }

    private func missReason(_ reason: CacheOutcome.ForwardReason?, _ wording: Wording) -> String {
        let count = wording.candidateCount
        if reason == .varyMiss {
            return count == 1
                ? "the stored response does not match the request's fields (Vary)"
                : "none of the \(count) stored responses matches the request's fields (Vary)"
        }
        if count == 0, let time = wording.timeToArrival {
            return "nothing was stored for this target yet: the stored response arrived \(Words.duration(time)) later"
        }
        let passingBy = count > 0 ? wording.rule(of: ["store.statuses"]) : ""
        return "nothing is stored for this target"
            + (passingBy.isEmpty ? "" : " with a status that the rules allow to be stored\(passingBy)")
    }

    /// Returns the reason that the stored response is not served without a request to the origin,
    /// although the mode or the caller prefers stored responses.
    private func notServedFirstClause(_ stored: StoredResponse, _ reuse: Reuse, _ wording: Wording) -> String {
        guard preference == .storedFirst || preference == .staleWhileRevalidate else { return "" }
        if case .forbidden(let name) = reuse.staleUse(isOffline: mode == .offline) {
            return ", and \(wording.prohibition(name))"
        }
        if let directive = reuse.liftedDirective {
            return ", and '\(directive)' applies as long as the origin is reachable"
                + wording.rule(of: ["stale.ignore"])
        }
        return stored.head.status.code >= 400 ? ", and is an error" : ""
    }

    // MARK: Not served

    private func passedOnReason(_ wording: Wording) -> String {
        guard let (stored, reuse) = considered else { return "no stored response can replace it" }
        // Only the staleness limit for errors matters here.
        if case .forbidden(let name) = reuse.staleUse(isOffline: mode == .offline), !name.hasPrefix("stale.") {
            return wording.prohibition(name)
        }
        if stored.head.isInvalidated { return "the stored response was invalidated" }
        if stored.head.status.code >= 400 { return "the stored response is an error, too" }
        if preference == .networkOnly { return "the caller wants only the origin's response" }
        let rule = wording.rule(of: ["stale.on-error"])
        return rule.isEmpty
            ? "no 'stale-if-error' permits a response this stale"
            : "its staleness exceeds 'stale.on-error'\(rule)"
    }

    private func rejectedReason(_ refusal: ExchangeError, _ wording: Wording) -> String {
        switch refusal.code {
        case .staleForbidden: return forbiddenBy.map(wording.prohibition) ?? refusal.message
        case .offlineMiss:
            let why = mode == .offline ? wording.mode(mode) : "only the store may be used"
            return "\(nothingUsable(wording)), and \(why)"
        case .originUnreachable where stage == .breakerOpen:
            return "\(nothingUsable(wording)), and the origin's circuit breaker is open"
        case .originUnreachable: return "\(nothingUsable(wording)), and the origin cannot be reached"
        default: return refusal.message
        }
    }

    /// Returns the reason that no stored response may serve the request. It has the words of
    /// ``fetchReason(_:_:)``, because both describe the same state.
    private func nothingUsable(_ wording: Wording) -> String {
        guard let considered else { return missReason(cacheOutcome.forward, wording) }
        if preference == .networkOnly { return "the caller wants only the origin's response" }
        return considered.stored.head.status.code >= 400
            ? "the stored response is a stale error" : "the stored response may not be used"
    }

    /// Describes the staleness. A response that became stale less than a second ago has "just"
    /// become stale.
    private func staleness(_ freshness: Freshness, _ words: String, orElse just: String) -> String {
        let left = freshness.millisecondsToLive
        if left == .min { return "\(words) an unknown time, because a clock was wrong: it was received in the future" }
        let milliseconds = left == .min ? .max : -left
        return milliseconds < 1000 ? just : "\(words) \(Words.duration(milliseconds))"
    }
}
