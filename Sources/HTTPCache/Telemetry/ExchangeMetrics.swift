import HTTPCacheSemantics
import Metrics

/// Counts exchanges by how they ended. Made once; its one dimension is bounded.
struct ExchangeMetrics: Sendable {
    private enum Ending: String, CaseIterable {
        case hit, staleHit = "stale-hit", validated, fetched, collapsed, bypass, refused, failed
    }

    private let counters: [Ending: Counter]
    /// Those that are counted most often, without a lookup.
    private let hits: Counter
    private let fetched: Counter
    private let storeFailures: Counter
    private let refusedContents: Counter

    init() {
        counters = Dictionary(
            uniqueKeysWithValues: Ending.allCases.map {
                ($0, Counter(label: "holdfast_exchanges_total", dimensions: [("outcome", $0.rawValue)]))
            }
        )
        hits = counters[.hit] ?? Counter(label: "holdfast_exchanges_total", dimensions: [("outcome", "hit")])
        fetched = counters[.fetched] ?? Counter(label: "holdfast_exchanges_total", dimensions: [("outcome", "fetched")])
        storeFailures = Counter(label: "holdfast_store_failures_total")
        refusedContents = Counter(label: "holdfast_refused_contents_total")
    }

    func record(_ response: CacheResponse) {
        let ending: Ending =
            if response.outcome.isHit {
                response.isStale ? .staleHit : .hit
            } else if response.isStaleOnError || response.outcome.detail == .staleIfError {
                .staleHit
            } else if response.outcome.isCollapsed {
                .collapsed
            } else if response.isValidated {
                .validated
            } else {
                switch response.outcome.forward {
                case .bypass, .method: .bypass
                case .uriMiss, .varyMiss, .miss, .request, .stale, .partial, nil: .fetched
                }
            }
        if ending == .fetched { fetched.increment() } else { counters[ending]?.increment() }
    }

    func record(_ error: any Error) {
        switch (error as? ExchangeError)?.code {
        case .some(.offlineMiss), .some(.staleForbidden): counters[.refused]?.increment()
        default: counters[.failed]?.increment()
        }
    }

    /// A fresh stored response answered.
    func recordHit() { hits.increment() }

    /// The origin answered, and nothing was stored.
    func recordFetched() { fetched.increment() }

    func recordStoreFailure() { storeFailures.increment() }

    /// A caller's check kept a response out of the store.
    func recordRefusedContent() { refusedContents.increment() }
}

extension CacheResponse {
    /// The origin was asked and failed, and what is stored answers because a rule lets it.
    fileprivate var isStaleOnError: Bool {
        outcome.forward == .stale && outcome.detail?.description.hasPrefix("despite") == true
    }
}
