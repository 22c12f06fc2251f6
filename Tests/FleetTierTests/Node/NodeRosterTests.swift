import HTTPCache
import HoldfastTesting
import Testing

@testable import FleetTier

/// The memory of a node for the other nodes, and its look for processes in its own place.
@Suite(.timeLimit(.minutes(20))) struct NodeRosterTests {
    private let now = EngineTime(milliseconds: 1_767_225_600_000)

    private func identity(_ store: UInt64, _ process: UInt64 = 1) -> NodeIdentity {
        var random = SeededRandom(seed: store)
        return NodeIdentity(store: PurgeID(using: &random), process: process)
    }

    private func row(_ identity: NodeIdentity, _ name: String = "gw", ago: Int64 = 0, hasEnded: Bool = false) throws
        -> NodeRow
    {
        var report = NodeReport(
            identity: identity,
            name: try #require(NodeName(name)),
            applied: .zero,
            unpublished: 0,
            version: "1"
        )
        report.hasEnded = hasEnded
        return NodeRow(report: report, seenAt: EngineTime(milliseconds: now.milliseconds - ago))
    }

    // MARK: Memory

    @Test func whatTheLogHasLostIsRememberedAndWrittenAgain() throws {
        var roster = NodeRoster()
        let (here, away) = (try row(identity(1)), try row(identity(2), ago: 1000))
        #expect(roster.note([here, away], at: now) == [])
        #expect(roster.note([here], at: now) == [NodeRowChange(away)])
        #expect(roster.rows == [here, away].inOrder)
        // A later report counts, and so does that a process has ended.
        let (later, ended) = (try row(identity(2)), try row(identity(1), hasEnded: true))
        #expect(roster.note([ended, later], at: now) == [])
        #expect(roster.rows == [ended, later].inOrder)
    }

    @Test func rowsEndAfterAWeek() throws {
        var roster = NodeRoster()
        let old = try row(identity(1), ago: 7 * 24 * 3_600_000)
        _ = roster.note([old], at: now)
        #expect(roster.note([], at: now) == [NodeRowChange(old)])
        #expect(roster.note([], at: now.adding(.milliseconds(1))) == [] && roster.rows == [])
    }

    @Test func aProcessThatHasEndedStaysSo() throws {
        var roster = NodeRoster()
        let row = try row(identity(1))
        _ = roster.note([row], at: now)
        let change = roster.end(row)
        #expect(change.expected == row && change.row.report.hasEnded)
        // Another node has written the row again.
        #expect(roster.note([row], at: now) == [change])
        // A later report is of a process that runs.
        let later = try self.row(identity(1), ago: -1)
        #expect(roster.note([later], at: now) == [] && roster.rows == [later])
    }

    @Test func notesOutlastAStart() throws {
        var roster = NodeRoster()
        #expect(notes(&roster) == nil)
        let rows = try [row(identity(1)), row(identity(2), "gw-2", ago: 5)]
        _ = roster.note(rows, at: now)
        let notes = try #require(self.notes(&roster))
        // Only who there is matters, and not when each was seen.
        _ = roster.note([try row(identity(1), ago: -9), rows[1]], at: now)
        #expect(self.notes(&roster) == nil)
        var again = NodeRoster(notes: notes + Array("nonsense\n\n".utf8))
        #expect(again.rows == rows.inOrder && self.notes(&again) == nil)
        let lost = again.note([], at: now)
        #expect(Set(lost) == Set(rows.map { NodeRowChange($0) }))
        for length in notes.indices { _ = NodeRoster(notes: Array(notes[..<length])) }
    }

    /// The next process on the store replaces its row at once.
    @Test func aProcessThatEndsInOrderIsKnownToHaveEnded() throws {
        var roster = NodeRoster()
        let last = try row(identity(1), ago: -3000)
        _ = roster.note([try row(identity(1))], at: now)
        roster.end(last.report)
        let notes = Array(roster.rows.map { "\($0.report.identity) \($0.encoded)\n" }.joined().utf8)
        #expect(self.notes(&roster) == notes)
        var next = NodeRoster(notes: notes)
        let changes = next.note([last], at: now)
        #expect(changes.map(\.expected) == [last] && changes.first?.row.report.hasEnded == true)
        #expect(changes.first?.row.seenAt == last.seenAt)
        // It is not written to a log that does not have it.
        var other = NodeRoster(notes: notes)
        let written = other.note([], at: now)
        #expect(written == [] && other.rows == [])
    }

    /// An expectation evaluates no mutating call.
    private func notes(_ roster: inout NodeRoster) -> [UInt8]? { roster.notes() }

    @Test func theRosterIsBounded() throws {
        var roster = NodeRoster()
        let rows = try (0..<NodeRoster.limit + 9).map { try row(identity(UInt64($0)), ago: Int64($0)) }
        _ = roster.note(rows, at: now)
        #expect(Set(roster.rows) == Set(rows.prefix(NodeRoster.limit)))
    }

    // MARK: Processes in this one's place

    private struct Look {
        var watch = NodeWatch()
        let own: NodeIdentity

        mutating func callAsFunction(_ rows: [NodeRow], at seconds: Double) throws -> NodeWatch.Findings {
            watch.observe(
                at: rows,
                own: own,
                name: try #require(NodeName("gw")),
                lease: .seconds(5),
                now: .seconds(seconds)
            )
        }
    }

    @Test func anEarlierProcessEndsAfterALeaseWithoutAReport() throws {
        var look = Look(own: identity(1, 7))
        let (own, earlier, other) = try (row(identity(1, 7)), row(identity(1, 3)), row(identity(2), "gw-2"))
        for seconds in [10, 12, 15.1] {
            #expect(try look([own, earlier, other], at: seconds) == NodeWatch.Findings(), "\(seconds) s")
        }
        #expect(try look([own, earlier, other], at: 15.2).ended == [earlier])
    }

    @Test func aProcessOnACopyOfTheStoreIsATwinAndDoesNotEnd() throws {
        var look = Look(own: identity(1, 7))
        #expect(try look([row(identity(1, 3))], at: 0).twin == nil)
        #expect(try look([row(identity(1, 3), ago: -1)], at: 1).twin == identity(1, 3))
        // It is cut off then, and keeps serving the responses it has.
        for seconds in [2, 60.0] {
            let findings = try look([row(identity(1, 3), ago: -1)], at: seconds)
            #expect(findings.ended == [] && findings.twin == identity(1, 3))
        }
    }

    @Test func aLivingNodeWithTheSameNameIsFound() throws {
        var look = Look(own: identity(1))
        #expect(try look([row(identity(2))], at: 0).namesakes == [])
        #expect(try look([row(identity(2), ago: -1)], at: 1).namesakes == [identity(2)])
        #expect(try look([row(identity(2), ago: -1, hasEnded: true)], at: 2).namesakes == [])
        // One that was replaced, with its store.
        var silent = Look(own: identity(1))
        for seconds in [0, 60.0] { #expect(try silent([row(identity(2))], at: seconds) == NodeWatch.Findings()) }
    }
}
