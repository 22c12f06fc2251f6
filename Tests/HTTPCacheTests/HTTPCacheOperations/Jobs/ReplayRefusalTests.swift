import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCacheOperations

/// A refused request of a replay is reported with its reason and the next step.
@Suite(.timeLimit(.minutes(20))) struct ReplayRefusalTests {
    private static let missing = "offline-miss"

    private func header(keysPosts: Bool = false) throws -> JobFile.Header {
        JobFile.Header(
            name: try #require(JobName("deps")),
            made: Timestamp(milliseconds: 0),
            command: "",
            partition: try #require(JobPartition(String(repeating: "0", count: 32))),
            keysPosts: keysPosts
        )
    }

    private func request(_ method: HTTPRequest.Method, _ path: String) throws -> JobRequest {
        JobRequest(method: method, target: try TargetURI("https://a.example\(path)"))
    }

    private func refusal(
        _ method: HTTPRequest.Method = .get,
        _ path: String,
        code: String = missing,
        among entries: [JobFile.Entry]
    ) throws -> ReplayRefusal {
        let ending = JobExchange.Ending.failed(code: code, message: "A message.")
        let exchange = JobExchange(ordinal: 1, request: try request(method, path), ending: ending)
        var refusal = ReplayRefusal(exchange, code: code, message: "A message.")
        for entry in entries { refusal.take(entry) }
        return refusal
    }

    /// Mutant: any method may be recorded.
    @Test(
        arguments: [
            (.put, "PUT is never recorded."), (.options, "OPTIONS is never recorded."),
            (.post, "POST is not recorded without '--post'. Record the job again with it."),
        ] as [(HTTPRequest.Method, String)]
    )
    func methodThatIsNotRecordedIsSaid(_ method: HTTPRequest.Method, _ words: String) throws {
        let found = try refusal(method, "/x", among: [JobFile.Entry(try request(.get, "/x"))])
        #expect(try found.words(header()) == "\(method) https://a.example/x: \(words)")
        #expect(try !found.mayNeedRules(header()))
        guard method == .post else { return }
        #expect(try found.words(header(keysPosts: true)).contains("No response is recorded for it."))
        // A rule keys its content.
        let other = try refusal(method, "/x", among: [JobFile.Entry(try request(.post, "/y"))])
        #expect(try other.words(header()).contains("No response is recorded for it."))
    }

    @Test func parameterThatChangesIsNamedWithItsSettings() throws {
        let found = try refusal(.get, "/x?t=2", among: [JobFile.Entry(try request(.get, "/x?t=1"))])
        let words = try found.words(header())
        #expect(words.contains("the parameter 't' is '2', and was '1'."), "\(words)")
        #expect(words.contains("'ignore: {parameters: [t]}'") && words.contains("'--secret t'"), "\(words)")
        #expect(try found.mayNeedRules(header()) && found.sameEntry == nil)
        let unknown = try refusal(.get, "/y", among: [JobFile.Entry(try request(.get, "/x"))])
        #expect(try unknown.words(header()).contains("No request with this method and path was recorded."))
    }

    /// Mutant: a recorded request is said to be missing.
    @Test(
        arguments: [
            (nil, "removed", "It is recorded, but its complete response is not in the store."),
            ("responseNoStore", "responseNoStore", "'stale: {ignore: [no-store]}' stores it."),
            ("bypass", "bypass", "such as WebSocket, or a rule excludes it from the store."),
            ("bodyLength", "bodyLength", "It was sent in the recording, but the reason is 'bodyLength'."),
        ] as [(String?, String, String)]
    )
    func requestOfTheJobHasItsVerdict(_ why: String?, _ reason: String, _ words: String) throws {
        let entries = [JobFile.Entry(try request(.get, "/x?a=1")), JobFile.Entry(try request(.get, "/x"), why: why)]
        let found = try refusal(.get, "/x", among: entries)
        let same = try #require(found.sameEntry)
        #expect(same == entries.last)
        let judged = JobForecast.Refused(request: same.request, reason: reason)
        let text = try found.words(header(), judged: judged)
        #expect(text.hasSuffix(words) && !text.contains("record the job again"), "\(text)")
        #expect(try found.mayNeedRules(header()) == (why == nil))
    }

    /// Mutant: `head-needs-no-get`.
    @Test(
        arguments: [
            (.head, "a HEAD request is answered only if a GET request for its URL is recorded."),
            (.options, "responses to OPTIONS are not stored."),
        ] as [(HTTPRequest.Method, String)]
    )
    func methodWhoseResponsesAreNotStoredIsSaid(_ method: HTTPRequest.Method, _ words: String) throws {
        let entry = JobFile.Entry(try request(method, "/x"), why: "method")
        let found = try refusal(method, "/x", among: [entry])
        let judged = JobForecast.Refused(request: entry.request, reason: "method")
        let text = try found.words(header(), judged: judged)
        #expect(text == "\(method) https://a.example/x: It was sent in the recording, but \(words)")
    }

    @Test func directiveIsSaidAsTheGatewaySaysIt() throws {
        let found = try refusal(.get, "/x", code: "stale-forbidden", among: [JobFile.Entry(try request(.get, "/x"))])
        #expect(try found.words(header()).hasSuffix(": A message. '--as-recorded' serves it."))
        #expect(try found.words(header(), isAsRecorded: true).hasSuffix(": A message."))
    }
}
