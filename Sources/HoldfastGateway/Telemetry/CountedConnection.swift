/// One client connection as telemetry counts it, in one state at a time.
///
/// An immediate response does not change the state. Used on the connection's event loop.
struct CountedConnection {
    private let telemetry: LoopTelemetry
    /// `nil` before the channel is active and after it has ended.
    private(set) var state: ConnectionState?

    init(_ telemetry: LoopTelemetry) { self.telemetry = telemetry }

    /// Counts the connection as idle, because its channel is active.
    mutating func begin() {
        guard state == nil else { return }
        state = .idle
        telemetry.countConnection(nil, to: .idle)
    }

    /// Changes the state of a connection that has begun.
    ///
    /// - Parameter next: `nil` when the connection has ended.
    mutating func enter(_ next: ConnectionState?) {
        guard let state, state != next else { return }
        telemetry.countConnection(state, to: next)
        self.state = next
    }
}
