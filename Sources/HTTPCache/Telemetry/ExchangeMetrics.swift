import HTTPCacheSemantics
import Metrics

/// Counts exchanges by how they ended. Made once; its one dimension is bounded.
struct ExchangeMetrics: Sendable {
    enum Ending: String, CaseIterable {
        case hit, staleHit = "stale-hit", validated, fetched, collapsed, bypass, refused, failed
    }

    private let counters: [Ending: Counter]
    /// The most frequent counters, kept to save a lookup.
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

    func record(_ ending: Ending) {
        switch ending {
        case .hit: hits.increment()
        case .fetched: fetched.increment()
        case .staleHit, .validated, .collapsed, .bypass, .refused, .failed: counters[ending]?.increment()
        }
    }

    func record(_ error: any Error) {
        switch (error as? ExchangeError)?.code {
        case .some(.offlineMiss), .some(.staleForbidden): counters[.refused]?.increment()
        default: counters[.failed]?.increment()
        }
    }

    func recordStoreFailure() { storeFailures.increment() }

    /// Counts a response that a caller's check kept out of the store.
    func recordRefusedContent() { refusedContents.increment() }
}

extension ExchangeMetrics.Ending {
    init(_ response: CacheResponse) {
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
}

extension CacheResponse {
    /// Whether the origin was asked and failed, and a stored response was served because a rule
    /// allows it.
    fileprivate var isStaleOnError: Bool {
        outcome.forward == .stale && outcome.detail?.description.hasPrefix("despite") == true
    }
}
