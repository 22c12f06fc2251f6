import HTTPCache
import HTTPCacheOperations
import Testing

@testable import HoldfastControl

/// The member `refresh` of a purge, and its place.
@Suite(.timeLimit(.minutes(20))) struct RefreshRequestTests {
    private func purge(_ refresh: String, _ more: String = "") throws -> PurgeRequest {
        try PurgeRequest(json: Array(#"{"select": {"tags": ["a"]}, "refresh": \#(refresh)\#(more)}"#.utf8))
    }

    @Test func readsAPace() throws {
        #expect(try purge(#"{"perSecond": 20}"#).refresh == RefreshPace(perSecond: 20, atMost: 5000))
        #expect(try purge(#"{"perSecond": 1, "atMost": 7}"#).refresh == RefreshPace(perSecond: 1, atMost: 7))
        #expect(try purge("null").refresh == nil)
    }

    @Test(arguments: [
        (#"{}"#, "refresh.perSecond"), (#"{"perSecond": 0}"#, "refresh.perSecond"),
        (#"{"perSecond": 1001}"#, "refresh.perSecond"), (#"{"perSecond": 1.5}"#, "refresh.perSecond"),
        (#"{"perSecond": "20/s"}"#, "refresh.perSecond"), (#"{"perSecond": 1, "atMost": 100001}"#, "refresh.atMost"),
        (#"{"perSecond": 1, "atmost": 5}"#, "refresh.atmost"), (#"true"#, "refresh"),
    ])
    func rejectsBadInput(_ refresh: String, field: String) {
        let problem = #expect(throws: ControlProblem.self) { try purge(refresh) }
        #expect(problem?.status == 400 && problem?.field == field, "\(problem?.detail ?? "")")
    }

    @Test func removedResponsesAreNotFetchedAgain() throws {
        let purge = try purge(#"{"perSecond": 1}"#, #", "action": "remove""#)
        let problem = #expect(throws: ControlProblem.self) { try purge.scopes() }
        #expect(problem?.field == "refresh")
    }

    @Test func refusalsSayThatNothingWasPurged() {
        for refusal in [RefreshRefusal.tooMany(limit: 4), .mode(.offline)] {
            let problem = ControlProblem(refusal)
            #expect(
                problem.status == 409 && problem.field == "refresh" && problem.detail.contains("Nothing was purged")
            )
        }
    }
}
