import NIOCore

extension Duration {
    /// In NIO's terms; what is longer than 292 years is 292 years.
    var timeAmount: TimeAmount {
        let (seconds, attoseconds) = components
        let (nanoseconds, overflowed) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflowed ? .nanoseconds(.max / 2) : .nanoseconds(nanoseconds + attoseconds / 1_000_000_000)
    }
}
