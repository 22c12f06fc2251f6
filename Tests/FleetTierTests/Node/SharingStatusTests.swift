import HTTPCacheOperations
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct SharingStatusTests {
    /// Mutant: `fleet-status-hides-why-it-is-unreachable`.
    @Test func problemIsWhyTheServerCannotBeUsed() {
        let status = SharingStatus()
        status.enter(.cutOff)
        status.countFailure(FleetLogError.unreachable)
        #expect(status.problem == "unreachable")
        status.noteConnectionFailure("The server rejected the handshake with 'WRONGPASS'.")
        let reason = "The server rejected the handshake with 'WRONGPASS'"
        #expect(status.problem == reason)
        #expect(status.condition.detail == "cut off: \(reason)")
        // It can be reached with another password, and rejects a command.
        status.countFailure(FleetLogError.refused("NOPERM"))
        #expect(status.problem == "the server rejected a command with 'NOPERM'")
        status.enter(.following)
        #expect(status.problem == nil)
        // An earlier reason is not that of a later failure.
        status.countFailure(FleetLogError.unreachable)
        #expect(status.problem == "unreachable" && status.counts.failures == 3)
    }

    @Test func errorsAreDescribedInWords() {
        let errors: [FleetLogError] = [
            .unreachable, .timedOut, .cancelled, .wrongEpoch, .lowEpoch(1), .refused("OOM"), .malformed("positions"),
            .limit("entries"),
        ]
        for error in errors { #expect(!"\(error)".contains("("), "\(error)") }
    }
}
