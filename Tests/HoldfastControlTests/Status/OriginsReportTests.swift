import HTTPCache
import Testing

@testable import HoldfastControl

/// The order of the origins in a report.
@Suite(.timeLimit(.minutes(20))) struct OriginsReportTests {
    /// Clients choose how many names do not resolve, and a report has at most
    /// ``OriginsReport/limit`` origins. Mutant: `unknown-names-hide-an-outage`.
    @Test func outagesComeBeforeNamesThatDoNotResolve() {
        let states: [(String, OriginCondition.Reachability)] = [
            ("a", .reachable), ("b", .unresolved), ("c", .unreachable), ("d", .confirming), ("e", .unresolved),
        ]
        let conditions = states.map { name, state in
            var condition = OriginCondition(origin: name)
            condition.reachability = state
            return condition
        }
        let report = OriginsReport(conditions, .automatic, drains: nil)
        #expect(report.origins.map(\.origin) == ["c", "d", "b", "e", "a"])
    }
}
