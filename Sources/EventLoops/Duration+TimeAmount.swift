public import NIOCore

extension Duration {
    /// The duration in NIO's type. A duration of more than 292 years does not fit, and becomes 146
    /// years.
    package var timeAmount: TimeAmount {
        let (seconds, attoseconds) = components
        let (nanoseconds, overflowed) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflowed ? .nanoseconds(.max / 2) : .nanoseconds(nanoseconds + attoseconds / 1_000_000_000)
    }
}

extension TimeAmount {
    @inlinable package var seconds: Double { Double(nanoseconds) / 1e9 }
}
