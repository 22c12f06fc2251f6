import HTTPCacheOperations
import HTTPCacheSemantics
import Testing

@testable import HoldfastControl

/// Requests to record jobs are read strictly.
@Suite(.timeLimit(.minutes(20))) struct RecordingRequestTests {
    private let now = Timestamp(milliseconds: 1_764_000_000_000)

    private func plan(_ json: String) throws -> RecordingPlan {
        try RecordingRequest(json: Array(json.utf8)).plan(at: now, by: "uid 1")
    }

    @Test func membersAreRead() throws {
        let plan = try plan(
            """
            {"name":"deps","for":"30m","requests":10,"bytes":2000,"replace":true,"posts":true,"discardAtEnd":true,\
            "secret":["k"],"public":["state"],"command":"npm","reason":"why"}
            """
        )
        #expect(plan.name.description == "deps" && plan.until == now.adding(.seconds(1800)) && plan.since == now)
        #expect(plan.limits.requests == 10 && plan.limits.length == 2000)
        #expect(plan.replaces && plan.keysPosts && !plan.keepsAtEnd)
        #expect(plan.secretParameters == ["k"] && plan.publicParameters == ["state"])
        #expect(plan.command == "npm" && plan.reason == "why" && plan.client == "uid 1")
    }

    @Test func recordingHasLimitsWithoutBeingAsked() throws {
        let plan = try plan(#"{"name":"deps"}"#)
        #expect(plan.until == now.adding(.seconds(3600)) && plan.limits == JobRecording.Limits())
        #expect(!plan.replaces && !plan.keysPosts && plan.keepsAtEnd && plan.command.isEmpty)
    }

    /// Mutant: a recording may last a month.
    @Test(arguments: [
        ("{}", "'name'"), (#"{"name":"../x"}"#, "valid job name"), (#"{"name":"a","for":"25h"}"#, "24 hours"),
        (#"{"name":"a","until":"2025-11-26T17:00:00Z"}"#, "24 hours"), (#"{"name":"a","for":"0s"}"#, "'for'"),
        (#"{"name":"a","requests":0}"#, "'requests'"), (#"{"name":"a","requests":1000001}"#, "'requests'"),
        (#"{"name":"a","bytes":67108865}"#, "'bytes'"), (#"{"name":"a","secret":["a b"]}"#, "'secret'"),
        (#"{"name":"a","public":"state"}"#, "'public' must be a list of strings, not the text 'state'."),
        (#"{"name":"a","replace":1}"#, "'replace'"),
        (#"{"name":"a","command":"a\nb"}"#, "'command'"), (#"{"name":"a","more":1}"#, "'more'"),
    ])
    func faultIsNamed(_ json: String, _ words: String) throws {
        let problem = try #require(throws: ControlProblem.self) { try plan(json) }
        #expect(problem.detail.contains(words) && problem.status == 400, "\(problem)")
    }

    @Test func reportSaysWhatBecameOfARecording() throws {
        let name = try #require(JobName("deps"))
        var state = RecordingState(name, try plan(#"{"name":"deps"}"#))
        state.url = "http://127.0.0.1:1"
        #expect(RecordingReport(state).state == .recording && RecordingReport(state).url == "http://127.0.0.1:1")
        state.end = .init(.failure("no room"), at: now, isKept: false)
        let report = RecordingReport(state)
        #expect(report.state == .discarded && report.endedBy == "failure" && report.error == "no room")
        #expect(report.url == nil && report.ended == EndTime.text(now))
        state.end = .init(.time, at: now, isKept: true)
        #expect(RecordingReport(state).state == .kept)
    }
}
