import NIOCore

/// How long a client may take for the next bytes of request content to keep a minimum rate. Time is
/// a parameter.
///
/// The client has a budget of patience. Waiting for the client uses it up, and content that arrives
/// refills it. Fast content at first is no credit for a later stall. Only time in which content was
/// wanted counts, because a slow origin is not the client's fault.
struct UploadPace {
    /// Bytes per second; `nil` if there is no minimum.
    private let rate: Int64?
    /// How long content may stall, and how long a slow start may take.
    private let patience: TimeAmount
    private var stock: TimeAmount

    init(rate: Int64?, patience: TimeAmount) {
        self.rate = rate
        self.patience = patience
        stock = patience
    }

    /// Restarts for another request.
    mutating func restart(rate: Int64?) { self = UploadPace(rate: rate, patience: patience) }

    /// How long the next bytes may take; `nil` if there is no limit.
    var allowance: TimeAmount? { rate == nil ? nil : stock }

    /// Records bytes that were waited for.
    mutating func record(_ count: Int, after waited: TimeAmount) {
        guard let rate, rate > 0 else { return }
        // Clamped before it can overflow; more than the whole budget is never earned.
        let seconds = min(Double(count) / Double(rate), 1e6)
        stock = min(max(stock - waited, .zero) + .nanoseconds(Int64(seconds * 1e9)), patience)
    }
}
