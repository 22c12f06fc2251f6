import Testing

@testable import HoldfastControl

/// Members that an object of a request's content has twice.
@Suite(.timeLimit(.minutes(20))) struct RepeatedMemberTests {
    @Test(arguments: [
        (#"{"a": 1, "a": 1}"#, "a"), (#"{"a": 1, "b": {"a": 2, "c": 3, "c": 4}}"#, "b.c"),
        (#"{"a": [{"b": 1}, {"b": 1, "b": 2}]}"#, "a[1].b"), (#"{"a": "x", "\u0061": "y"}"#, "a"),
        (#"{"a\"b": 1, "a\"b": 1}"#, #"a"b"#), (#"{"": 1, "": 2}"#, ""), (#"[[], [{"a": {}, "a": []}]]"#, "[1][0].a"),
    ])
    func isNamedByItsPath(_ json: String, _ path: String) {
        #expect(RepeatedMember.path(in: Array(json.utf8)) == path)
    }

    @Test(arguments: [
        "{}", "[]", "1", #""a""#, #"{"a": 1, "b": 1}"#, #"{"a": {"a": {"a": "a"}}, "b": "a"}"#, #"["a", "a", "a"]"#,
        #"{"a": "a", "b": ["a", "a", {"a": 1}, {"a": 1}], "c": "{\"a\": 1, \"a\": 2}"}"#, #"{"a": "\\", "b": "\\\""}"#,
        // Not JSON: it ends all the same.
        "", "\"", #"{"a"#, #"{"a\"#, "}]", ",",
    ])
    func otherTextsHaveNone(_ json: String) { #expect(RepeatedMember.path(in: Array(json.utf8)) == nil) }

    @Test func requestsWithOneAreRejectedAndNameIt() throws {
        let texts = [
            (#"{"select": {"tags": ["a"]}, "select": {"all": true}}"#, "select"),
            (#"{"select": {"tags": ["a"], "tags": ["b"]}}"#, "select.tags"),
            (#"{"select": {"tags": ["a"]}, "dryRun": true, "dryRun": false}"#, "dryRun"),
        ]
        for (json, field) in texts {
            let problem = try #require(throws: ControlProblem.self) { try PurgeRequest(json: Array(json.utf8)) }
            #expect(problem.status == 400 && problem.field == field && problem.detail.contains("'\(field)'"))
        }
        let mode = #"{"mode": "automatic", "mode": "offline", "for": "1h"}"#
        let problem = try #require(throws: ControlProblem.self) { try ModeRequest(json: Array(mode.utf8)) }
        #expect(problem.field == "mode" && problem.value == nil)
    }
}
