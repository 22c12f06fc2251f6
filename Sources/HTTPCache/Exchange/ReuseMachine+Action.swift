package import HTTPCacheSemantics
import HTTPTypes

/// The actions that the machine returns.
extension ReuseMachine {
    /// A stored response to serve, and how to describe the exchange.
    package struct Serve: Sendable {
        package var stored: StoredResponse
        package var freshness: Freshness
        package var outcome: CacheOutcome
        /// Whether to renew the response in the background, so that the next caller gets a newer
        /// response.
        package var isToBeRefreshed = false
        /// See ``CacheResponse/isToBeDecoded``.
        package var isToBeDecoded = false
        /// The reason that would forbid serving this response (a directive, or `invalidated`), but
        /// that the operator overrides.
        package var liftedDirective: String?
    }

    package enum Action: Sendable {
        case serve(Serve)
        case fetch(PlannedFetch)
        case refuse(ExchangeError)
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
}

extension ReuseMachine.Serve {
    /// Serves a stored response as a hit.
    init(_ stored: StoredResponse, _ reuse: Reuse) {
        let outcome = CacheOutcome(isHit: true, timeToLive: Self.secondsToLive(stored, reuse))
        self.init(stored: stored, freshness: reuse.freshness, outcome: outcome)
    }

    /// Returns the remaining lifetime to report. It is never positive if an unsafe method
    /// invalidated the response. RFC 9111 §4.4, RFC 9211 §2.4
    private static func secondsToLive(_ stored: StoredResponse, _ reuse: Reuse) -> Int64 {
        let seconds = reuse.freshness.secondsToLive
        return stored.head.invalidation == .unsafeMethod ? min(seconds, 0) : seconds
    }

    /// The same response, marked as served by a disconnected node, because another node may have
    /// purged it.
    var withoutContact: Self {
        var served = self
        served.outcome.detail = .cutOff
        return served
    }

    /// Whether the response is stale, and was served because the origin could not be asked, or
    /// failed. Without it, the request would have failed.
    var isNeeded: Bool {
        if outcome.standsInForError || liftedDirective != nil { return true }
        return outcome.detail == .unreachable || outcome.detail == .offline
    }

    /// Records the reason that would forbid this response, but that the operator overrides.
    mutating func lift(_ directive: String?) {
        guard let directive else { return }
        liftedDirective = directive
        outcome.detail = .despite(directive)
    }
}

extension Freshness {
    /// The time to live in seconds, rounded down, so that a stale response never claims 0. RFC 9211
    /// §2.4
    var secondsToLive: Int64 {
        let milliseconds = millisecondsToLive
        return milliseconds >= 0 || milliseconds % 1000 == 0 ? milliseconds / 1000 : milliseconds / 1000 - 1
    }
}
