import Foundation
import HTTPCache
import HTTPCacheOperations
import Synchronization
import Testing

@testable import HoldfastControl

/// How a purge is acknowledged that other nodes hear of.
@Suite(.timeLimit(.minutes(20))) struct PurgeAcknowledgementTests {
    /// A fleet that says what the test says, and notes what it was asked.
    private final class ScriptedFleet: SharingOperations {
        let acknowledgedLevel: PurgeLevel
        let answer: PurgeReach
        private let asked = Mutex<[String]>([])

        init(_ answer: PurgeReach, acknowledging level: PurgeLevel = .published) {
            (self.answer, acknowledgedLevel) = (answer, level)
        }

        var questions: [String] { asked.withLock { $0 } }
        var condition: FleetCondition { FleetCondition(isFollowing: true, detail: "") }

        func reach(_ level: PurgeLevel, within limit: Duration) async -> PurgeReach {
            asked.withLock { $0.append("\(level.rawValue) within \(limit)") }
            return answer
        }

        func fleet() async -> FleetState { FleetState(node: "gw-1", state: "following") }
    }

    private func request(_ more: String = "") throws -> PurgeRequest {
        try PurgeRequest(json: Array(#"{"select": {"tags": ["news"]}\#(more)}"#.utf8))
    }

    private func result(dryRun: Bool = false) -> PurgeResult {
        var result = PurgeResult(action: .expire, dryRun: dryRun, matched: .init(ScopeCount(responses: 1), of: .expire))
        if !dryRun { result.sequence = 7 }
        return result
    }

    private func json(_ result: PurgeResult) throws -> String {
        String(decoding: try ControlResponder.encoder.encode(result), as: UTF8.self)
    }

    @Test func withoutAFleetTheResponseIsAsItWas() async throws {
        let before = try json(result())
        #expect(!before.contains("reached") && !before.contains("nodes") && !before.contains("note"))
        for more in ["", #", "wait": "everywhere""#] {
            let acknowledgement = await PurgeAcknowledgement(result(), of: try request(more), nil)
            #expect(acknowledgement.isReached)
            #expect(try json(acknowledgement.result) == before)
        }
    }

    @Test func aDryRunWaitsForNothing() async throws {
        let fleet = ScriptedFleet(PurgeReach(level: .queued))
        let request = try request(#", "wait": "published", "dryRun": true"#)
        let acknowledgement = await PurgeAcknowledgement(result(dryRun: true), of: request, fleet)
        #expect(acknowledgement.isReached && acknowledgement.result.reached == nil && fleet.questions == [])
    }

    @Test(arguments: [
        ("", PurgeLevel.published, "published within 1.0 seconds"), ("", .queued, "queued within 1.0 seconds"),
        ("", .everywhere, "everywhere within 5.0 seconds"),
        (#", "wait": "replicated""#, .published, "replicated within 1.0 seconds"),
        (#", "wait": "everywhere", "within": "250ms""#, .published, "everywhere within 0.25 seconds"),
        (#", "within": "1m""#, .published, "published within 60.0 seconds"),
    ])
    func theLevelIsTheClientsOrTheConfigurations(_ more: String, _ level: PurgeLevel, _ asked: String) async throws {
        let fleet = ScriptedFleet(PurgeReach(level: .everywhere), acknowledging: level)
        _ = await PurgeAcknowledgement(result(), of: try request(more), fleet)
        #expect(fleet.questions == [asked])
    }

    /// A client that names no level gets the status that it has always got.
    @Test(arguments: [
        (nil, PurgeLevel.queued, true), ("queued", .queued, true), ("published", .queued, false),
        ("published", .replicated, true), ("everywhere", .replicated, false), ("everywhere", .everywhere, true),
    ])
    func theLevelThatWasAskedForIsReachedOrNot(_ wait: String?, _ reached: PurgeLevel, _ isReached: Bool) async throws {
        let fleet = ScriptedFleet(PurgeReach(level: reached), acknowledging: .everywhere)
        let more = wait.map { #", "wait": "\#($0)""# } ?? ""
        let acknowledgement = await PurgeAcknowledgement(result(), of: try request(more), fleet)
        #expect(acknowledgement.isReached == isReached && acknowledgement.result.reached == reached)
        #expect(acknowledgement.result.sequence == 7)
    }

    @Test func theResponseNamesThoseThatAreBehind() async throws {
        let reach = PurgeReach(
            level: .replicated,
            position: "5-41",
            replicas: 1,
            nodes: .init(applied: 4, waiting: [.init(node: "gw-5", seenSeconds: 41, behind: 3)]),
            note: "1 of 5 nodes has not applied the purge yet."
        )
        let acknowledgement = await PurgeAcknowledgement(
            result(),
            of: try request(#", "wait": "everywhere""#),
            ScriptedFleet(reach)
        )
        let text = try json(acknowledgement.result)
        #expect(
            text.contains(#""nodes":{"applied":4,"behind":1,"waiting":[{"behind":3,"node":"gw-5","seenSeconds":41}]}"#)
        )
        #expect(text.contains(#""position":"5-41","reached":"replicated","replicas":1,"sequence":7"#))
        #expect(try JSONDecoder().decode(PurgeResult.self, from: Data(text.utf8)) == acknowledgement.result)
    }

    @Test(arguments: [
        (#", "wait": "all""#, "wait"), (#", "within": "0s""#, "within"), (#", "within": "61s""#, "within"),
        (#", "within": "5""#, "within"), (#", "within": "-1ms""#, "within"), (#", "within": 5"#, "within"),
    ])
    func whatCannotBeWaitedForIsRejectedBeforeThePurge(_ more: String, _ field: String) {
        let problem = #expect(throws: ControlProblem.self) { try request(more).scopes() }
        #expect(problem?.field == field && problem?.status == 400)
    }
}
