import SampleOrigin
import Testing

/// The origin's gate, under a name that `HoldfastTesting.Gate` does not have.
typealias OriginGate = Gate

extension RunningOrigin {
    /// Returns when no connection is open any more, and reports an issue where a timeout closed the last one, after 30 seconds, rather than a cancellation.
    func waitUntilCancelled(sourceLocation: SourceLocation = #_sourceLocation) async {
        let start = ContinuousClock.now
        await waitForOpenConnections(atMost: 0)
        #expect(ContinuousClock.now - start < .seconds(20), sourceLocation: sourceLocation)
    }
}
