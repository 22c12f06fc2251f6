import HTTPCacheOperations
import Testing

@testable import HoldfastControl

/// The first line of the status, for a gateway of a fleet.
@Suite(.timeLimit(.minutes(20))) struct FleetSentenceTests {
    /// Mutant: `status-hides-purges-that-are-not-in-force`.
    @Test(
        arguments: [
            ("following", 0, nil, ""), ("following", 1, nil, " Unsent purges of this node: 1."),
            ("following", 0, 2, " Purges of other nodes that cannot be opened and are not in force here: 2."),
            (
                "cut off", 3, 1,
                " Purges from other nodes are not received (cut off). Unsent purges of this node: 3."
                    + " Purges of other nodes that cannot be opened and are not in force here: 1."
            ),
        ] as [(String, Int, Int64?, String)]
    )
    func statusSaysWhichPurgesAreNotInForce(_ state: String, _ waiting: Int, _ unopened: Int64?, _ expected: String) {
        var fleet = FleetState(node: "gw-1", state: state, waiting: waiting)
        fleet.unopened = unopened
        #expect(StatusReport.sentence(fleet) == expected)
    }
}
