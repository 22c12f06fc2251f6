import HTTPCache
import HTTPCacheOperations
import HoldfastTesting
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct NodeProgressTests {
    private let position = LogPosition(epoch: 5, number: 9)
    private let now = EngineTime(milliseconds: 1_767_225_600_000)

    private func row(_ name: String, _ applied: LogPosition, _ millisecondsAgo: Int64 = 0) throws -> NodeRow {
        let report = NodeReport(
            identity: identity(name),
            name: try #require(NodeName(name)),
            applied: applied,
            unpublished: 0,
            version: "1"
        )
        return NodeRow(report: report, seenAt: EngineTime(milliseconds: now.milliseconds - millisecondsAgo))
    }

    private func identity(_ name: String) -> NodeIdentity {
        var random = SeededRandom(seed: name.utf8.reduce(1) { $0 &* 31 &+ UInt64($1) })
        return NodeIdentity(store: PurgeID(using: &random), process: 1)
    }

    private func progress(_ rows: [NodeRow], _ cutOff: CutOff = .serve) throws -> NodeProgress {
        NodeProgress(
            rows,
            own: identity("own"),
            position: position,
            at: now,
            cutOff: cutOff,
            lease: .seconds(5)
        )
    }

    @Test func aLoneNodeHasItsOwnPurges() throws {
        #expect(try progress([]).isEverywhere)
        let own = try progress([row("own", .zero)])
        #expect(own.isEverywhere && own.nodes.applied == 1)
    }

    @Test func allOthersMustHaveAppliedThePosition() throws {
        let rows = try [row("a", position), row("b", LogPosition(epoch: 6, number: 1))]
        #expect(try progress(rows).isEverywhere)
        #expect(try progress(rows).nodes.applied == 3)
        let behind = try progress(rows + [row("c", position.previous)])
        #expect(!behind.isEverywhere && behind.nodes.behind == 1)
        #expect(behind.nodes.waiting == [.init(node: "c", seenSeconds: 0, behind: 1)])
    }

    /// Of two nodes with one name each has to have it, and so has a process on a copy of a store.
    @Test func namesTellNoNodesApart() throws {
        var namesake = try row("own", .zero)
        namesake.report.identity = identity("another store")
        var copy = try row("own", .zero)
        copy.report.identity.process = 2
        for other in [namesake, copy] {
            #expect(try progress([row("own", .zero), other]).nodes.waiting.map(\.node) == ["own"])
        }
        copy.report.hasEnded = true
        #expect(try progress([row("own", .zero), copy]).isEverywhere)
    }

    @Test func aNodeThatCannotOpenEntriesSaysHowMany() throws {
        var locked = try row("a", position.previous)
        locked.report.unopened = 3
        #expect(try progress([locked]).nodes.waiting == [.init(node: "a", seenSeconds: 0, behind: 1, unopened: 3)])
    }

    @Test func aNodeInAnEarlierEpochIsBehindByAnUnknownNumber() throws {
        let waiting = try progress([row("a", LogPosition(epoch: 4, number: 900), 41_500)]).nodes.waiting
        #expect(waiting == [.init(node: "a", seenSeconds: 41, behind: nil)])
    }

    /// A node that keeps serving is not where the purge is, however long it is away. One that
    /// validates serves nothing as fresh once its lease is over, with two percent for its clock.
    @Test(arguments: [(5100, false), (5101, true), (-60_000, false)])
    func aNodeThatIsAwayCountsByItsMode(_ millisecondsAgo: Int64, _ hasStopped: Bool) throws {
        let rows = try [row("a", .zero, millisecondsAgo)]
        #expect(try !progress(rows, .serve).isEverywhere)
        #expect(try progress(rows, .validate).isEverywhere == hasStopped)
    }

    @Test func thoseThatAreAwayForLongestAreNamedFirst() throws {
        let rows = try (0..<130).map { try row("n\($0)", .zero, Int64($0) * 1000) }
        let nodes = try progress(rows).nodes
        #expect(nodes.behind == 130 && nodes.waiting.count == 100)
        #expect(nodes.waiting.first?.node == "n129" && nodes.waiting.last?.node == "n30")
    }
}
