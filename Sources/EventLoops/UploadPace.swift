package import NIOCore

/// Decides how long to wait for the next bytes of request content, so that clients keep a minimum
/// rate. It reads no clock: the caller passes the time.
///
/// The client has a budget of time. Waiting for content uses the budget up, and content that
/// arrives refills it up to its initial value. So fast content earns no credit for a longer stall
/// later. Only time in which content was wanted counts, because a slow origin is not the client's
/// fault.
package struct UploadPace {
    /// Bytes per second; `nil` if there is no minimum.
    private let rate: Int64?
    /// The full budget: how long content may stall, and how long a slow start may take.
    private let patience: TimeAmount
    private var stock: TimeAmount

    package init(rate: Int64?, patience: TimeAmount) {
        self.rate = rate
        self.patience = patience
        stock = patience
    }

    /// Restarts for another request.
    package mutating func restart(rate: Int64?) { self = UploadPace(rate: rate, patience: patience) }

    /// The maximum time to wait for the next bytes; `nil` if there is no limit.
    package var allowance: TimeAmount? { rate == nil ? nil : stock }

    /// Records content, and the time that was spent waiting for it.
    package mutating func record(_ count: Int, after waited: TimeAmount) {
        guard let rate, rate > 0 else { return }
        // Clamped to prevent an overflow. The budget never exceeds its initial value anyway.
        let seconds = min(Double(count) / Double(rate), 1e6)
        stock = min(max(stock - waited, .zero) + .nanoseconds(Int64(seconds * 1e9)), patience)
    }
}
