package import HTTPCacheSemantics

/// The difference between the server's clock and a node's clock. All instants in a shared response
/// are on the server's clock, so the nodes' clocks need not agree.
package struct EngineOffset: Sendable, Hashable {
    /// The server's time minus the node's time; negative if the server's clock is behind.
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// - Parameters:
    ///   - engine: the server's time at some instant.
    ///   - node: the node's time at the same instant.
    package init(engine: EngineTime, node: Timestamp) {
        milliseconds = Timestamp(milliseconds: engine.milliseconds).milliseconds(since: node)
    }

    /// Converts an instant from the node's clock to the server's clock. The minimum and maximum
    /// instants stay unchanged.
    package func engineTime(_ instant: Timestamp) -> EngineTime {
        EngineTime(milliseconds: moved(instant, by: milliseconds).milliseconds)
    }

    /// Converts an instant from the server's clock to the node's clock. The minimum and maximum
    /// instants stay unchanged.
    package func timestamp(_ instant: EngineTime) -> Timestamp {
        let (opposite, isTooLarge) = (0 as Int64).subtractingReportingOverflow(milliseconds)
        return moved(Timestamp(milliseconds: instant.milliseconds), by: isTooLarge ? .max : opposite)
    }

    private func moved(_ instant: Timestamp, by delta: Int64) -> Timestamp {
        instant == .distantFuture || instant == .distantPast ? instant : instant.adding(milliseconds: delta)
    }
}
