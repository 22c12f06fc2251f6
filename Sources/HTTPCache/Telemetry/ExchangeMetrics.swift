import Metrics

/// The kinds of store operations, for counting their failures.
enum StoreOperation: String, CaseIterable {
    case read, write, invalidate
}

/// Counts exchanges by ending, which is the metric's only dimension and is bounded.
struct ExchangeMetrics: Sendable {
    /// A counter for each ending, in the order of the cases; empty if the engine's caller counts
    /// exchanges.
    private let counters: [Counter]
    /// A counter for each kind of operation, in the order of the cases.
    private let storeFailures: [Counter]
    private let refusedContents: Counter

    init(factory: any MetricsFactory, countsExchanges: Bool) {
        counters =
            countsExchanges
            ? ExchangeEnding.allCases.map {
                Counter(label: "holdfast_exchanges_total", dimensions: [("outcome", $0.label)], factory: factory)
            } : []
        storeFailures = StoreOperation.allCases.map {
            Counter(
                label: "holdfast_store_failures_total",
                dimensions: [("operation", $0.rawValue)],
                factory: factory
            )
        }
        refusedContents = Counter(label: "holdfast_refused_contents_total", factory: factory)
    }

    func record(_ ending: ExchangeEnding) {
        if !counters.isEmpty { counters[ending.rawValue].increment() }
    }

    func recordStoreFailure(_ operation: StoreOperation) {
        if let index = StoreOperation.allCases.firstIndex(of: operation) { storeFailures[index].increment() }
    }

    /// Counts a response that a caller's check kept out of the store.
    func recordRefusedContent() { refusedContents.increment() }
}
