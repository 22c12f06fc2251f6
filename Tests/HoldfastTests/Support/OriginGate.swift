import Holdfast
import SampleOrigin

/// The origin's gate, under a name that differs from `HoldfastTesting.Gate`.
typealias OriginGate = Gate

extension RunningOrigin {
    /// Returns when no connection is open any more. A cancellation must have closed the last one:
    /// the transports of the fixtures have no timeout shorter than the test's own limit, see
    /// ``HTTPClientTransport/Configuration/patient``.
    func waitUntilCancelled() async { await waitForOpenConnections(atMost: 0) }
}

extension HTTPClientTransport.Configuration {
    /// Waits longer than any test may.
    static let patient = Self(connectTimeout: .seconds(3600), idleTimeout: .seconds(3600))
}
