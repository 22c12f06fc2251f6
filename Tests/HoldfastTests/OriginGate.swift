import Holdfast
import SampleOrigin

/// The origin's gate, under a name that `HoldfastTesting.Gate` does not have.
typealias OriginGate = Gate

extension RunningOrigin {
    /// Returns when no connection is open any more. That a cancellation closed the last one, and no
    /// timeout, is known because the fixtures' transports have none that passes before the test's
    /// own limit: ``HTTPClientTransport/Configuration/patient``.
    func waitUntilCancelled() async { await waitForOpenConnections(atMost: 0) }
}

extension HTTPClientTransport.Configuration {
    /// Waits longer than any test may.
    static let patient = Self(connectTimeout: .seconds(3600), idleTimeout: .seconds(3600))
}
