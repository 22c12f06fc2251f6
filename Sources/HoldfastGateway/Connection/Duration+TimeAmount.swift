import NIOCore

extension Duration {
    /// The duration as NIO's type, at most 292 years.
    var timeAmount: TimeAmount {
        let (seconds, attoseconds) = components
        let (nanoseconds, overflowed) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflowed ? .nanoseconds(.max / 2) : .nanoseconds(nanoseconds + attoseconds / 1_000_000_000)
    }
}
