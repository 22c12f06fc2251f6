import HTTPCacheSemantics
import Metrics

/// Counts exchanges by how they ended. Its one dimension is bounded.
struct ExchangeMetrics: Sendable {
    enum Ending: Int, CaseIterable {
        case hit, staleHit, validated, fetched, collapsed, bypass, refused, failed

        fileprivate var label: String { self == .staleHit ? "stale-hit" : "\(self)" }
    }

    /// One for each ending, in the order of the cases.
    private let counters: [Counter]
    private let storeFailures: Counter
    private let refusedContents: Counter

    init(factory: any MetricsFactory) {
        counters = Ending.allCases.map {
            Counter(label: "holdfast_exchanges_total", dimensions: [("outcome", $0.label)], factory: factory)
        }
        storeFailures = Counter(label: "holdfast_store_failures_total", factory: factory)
        refusedContents = Counter(label: "holdfast_refused_contents_total", factory: factory)
    }

    func record(_ ending: Ending) { counters[ending.rawValue].increment() }

    func record(_ error: any Error) {
        switch (error as? ExchangeError)?.code {
        case .some(.offlineMiss), .some(.staleForbidden): record(.refused)
        default: record(.failed)
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
