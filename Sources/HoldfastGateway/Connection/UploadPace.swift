import NIOCore

/// How long a client may take for the next bytes of a request's content, so that it keeps a minimum
/// rate. Time is a parameter.
///
/// The client has a stock of patience. Waiting for the client uses the stock up, and content that
/// comes fills it again. Content that came fast at first is no reserve for a standstill later. Only
/// time in which content was asked for counts: an origin that reads slowly is not the client's
/// fault.
struct UploadPace {
    /// Bytes in a second; `nil` if there is no minimum.
    private let rate: Int64?
    /// How long content may stand still, and how long a slow start may take.
    private let patience: TimeAmount
    private var stock: TimeAmount

    init(rate: Int64?, patience: TimeAmount) {
        self.rate = rate
        self.patience = patience
        stock = patience
    }

    /// Starts again, for another request.
    mutating func restart(rate: Int64?) { self = UploadPace(rate: rate, patience: patience) }

    /// How long the next bytes may take; `nil` if there is no limit.
    var allowance: TimeAmount? { rate == nil ? nil : stock }

    /// Records bytes that were waited for.
    mutating func record(_ count: Int, after waited: TimeAmount) {
        guard let rate, rate > 0 else { return }
        // Limited before it can overflow: no more than the whole stock is earned.
        let seconds = min(Double(count) / Double(rate), 1e6)
        stock = min(max(stock - waited, .zero) + .nanoseconds(Int64(seconds * 1e9)), patience)
    }
}
