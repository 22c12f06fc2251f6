import HTTPCacheSemantics

extension ExchangeEnding {
    package init(_ response: CacheResponse) {
        if response.outcome.isHit {
            self = response.isStale ? .staleHit : .hit
        } else if response.isStaleOnError || response.outcome.detail == .staleIfError {
            self = .staleHit
        } else if response.outcome.isCollapsed {
            self = .collapsed
        } else if response.isValidated {
            self = .validated
        } else {
            switch response.outcome.forward {
            case .bypass, .method: self = .bypass
            case .uriMiss, .varyMiss, .miss, .request, .stale, .partial, nil: self = .fetched
            }
        }
    }

    package init(_ error: any Error) {
        switch (error as? ExchangeError)?.code {
        case .some(.offlineMiss), .some(.staleForbidden): self = .refused
        default: self = .failed
        }
    }
}

extension CacheResponse {
    /// Whether the origin was contacted and failed, and a stored response was served because a rule
    /// allows it.
    fileprivate var isStaleOnError: Bool {
        outcome.forward == .stale && outcome.detail?.description.hasPrefix("despite") == true
    }
}
