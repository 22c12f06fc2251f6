import HTTPCache
import HTTPTypes
import Testing

@testable import HoldfastControl

/// Reading changes of pins from JSON.
@Suite(.timeLimit(.minutes(20))) struct PinRequestTests {
    @Test func readsAChange() throws {
        let json =
            #"{"select": {"tags": ["a"], "urls": ["https://a.example/"]}, "pinned": false, "dryRun": true, "reason": "r"}"#
        let change = try PinRequest(json: Array(json.utf8))
        #expect(!change.pinned && change.dryRun && change.reason == "r")
        #expect(try change.scopes().count == 2)
    }

    @Test(arguments: [
        (#"{"pinned": true}"#, "select"), (#"{"select": {"all": true}}"#, "pinned"),
        (#"{"select": {"all": true}, "pinned": null}"#, "pinned"), (#"{"select": {}, "pinned": true}"#, "select"),
        (#"{"select": {"all": true}, "pinned": "yes"}"#, "pinned"),
        (#"{"select": {"all": true}, "pinned": true, "action": "expire"}"#, "action"),
        (#"{"select": {"all": true, "tags": ["a"]}, "pinned": true}"#, "select.all"),
        (#"{"select": {"tags": [""]}, "pinned": true}"#, "select.tags[0]"),
    ])
    func rejectsBadInput(_ json: String, field: String) {
        let problem = #expect(throws: ControlProblem.self) { try PinRequest(json: Array(json.utf8)).scopes() }
        #expect(problem?.status == 400 && problem?.field == field, "\(problem?.detail ?? "")")
    }

    @Test func changingPinsNeedsTheScopeOperate() {
        let scopes = ControlResponder.operations.filter { $0.path == "/v1/pins" }.map { "\($0.method) \($0.scope)" }
        #expect(scopes == ["GET read", "POST operate"])
    }
}
