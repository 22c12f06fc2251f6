import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

/// `store.content: json`, `ignore.members` and `credentials: none` of a rule, in exchanges.
@Suite(.timeLimit(.minutes(20))) struct KeyedJSONTests {
    private let url = EngineFixture.url

    private func fixture(
        _ kind: CacheKind = .shared,
        ignoring ignored: [String] = [],
        _ change: (inout ExchangeSettings) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            kind: kind,
            rules: TestRules {
                $0.keyedContent = .json
                $0.ignoredMembers = MemberPaths(ignored)
                change(&$0)
            }
        )
    }

    private func request(_ fixture: EngineFixture, _ json: String, _ fields: HTTPFields = [:]) throws -> CacheRequest {
        var fields = fields
        if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
        var request = try fixture.request(url, fields, method: .post)
        request.body = .buffer(ByteBuffer(string: json))
        return request
    }

    private func post(
        _ fixture: EngineFixture,
        _ json: String,
        _ fields: HTTPFields = [:]
    ) async throws -> (text: String, response: CacheResponse) {
        let response = try await fixture.engine.respond(to: request(fixture, json, fields))
        return (String(buffer: try await response.body.collect(upTo: 1 << 20)), response)
    }

    @Test func orderAndSpaceDoNotDistinguishRequests() async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        let sent = #"{ "b": 1, "a": [1, 2] }"#
        #expect(try await post(fixture, sent).text == "one")
        for json in [#"{"a":[1,2],"b":1}"#, #"{"b":1,"\u0061":[ 1,2 ]}"#] {
            let again = try await post(fixture, json)
            #expect(again.text == "one" && again.response.outcome.isHit)
        }
        #expect(try await post(fixture, #"{"a":[2,1],"b":1}"#).text == "two")
        let content = try #require(fixture.transport.received.first?.content)
        #expect(String(buffer: content) == sent, "it is sent as it came")
    }

    @Test func ignoredMembersAreSentAndNotKeyed() async throws {
        let fixture = fixture(ignoring: ["user", "messages[*].id"])
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        let sent = #"{"user":"ann","messages":[{"id":1,"text":"hi"}]}"#
        _ = try await post(fixture, sent)
        for json in [
            #"{"user":"bob","messages":[{"id":2,"text":"hi"}]}"#, #"{"messages":[{"text":"hi"}]}"#,
        ] { #expect(try await post(fixture, json).response.outcome.isHit) }
        #expect(try await post(fixture, #"{"user":"ann","messages":[{"id":1,"text":"ho"}]}"#).text == "two")
        let content = try #require(fixture.transport.received.first?.content)
        #expect(String(buffer: content) == sent)
    }

    /// Mutant: numbers are compared as doubles.
    @Test func idsAbove2To53NeverShareAResponse() async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        #expect(try await post(fixture, #"{"id":9007199254740992}"#).text == "one")
        #expect(try await post(fixture, #"{"id":9007199254740993}"#).text == "two")
    }

    /// Servers may read this content in different ways, so only the same bytes share a response.
    @Test(
        arguments: [
            (#"{"user":1,"a":1,"a":2}"#, "application/json", nil),
            (#"{"user":1,"a":"\ud83d"}"#, "application/json", nil),
            (#"{"user":1,"a":1}"#, "text/plain", nil), (#"{"user":1,"a":1}"#, "application/json; charset=utf-16", nil),
            (#"{"user":1,"a":1}"#, "application/json", "gzip"),
            (
                #"{"user":1,"a":"# + String(repeating: "[", count: 99) + String(repeating: "]", count: 99) + "}",
                "application/json", nil
            ),
        ] as [(String, String, String?)]
    )
    func unclearContentIsKeyedByItsBytes(_ json: String, _ type: String, _ coding: String?) async throws {
        let fixture = fixture(ignoring: ["user"])
        var fields: HTTPFields = [.contentType: type]
        if let coding { fields[.contentEncoding] = coding }
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        _ = try await post(fixture, json, fields)
        #expect(try await post(fixture, json, fields).response.outcome.isHit)
        #expect(try await post(fixture, " " + json, fields).text == "two")
    }

    @Test func typesWithAJSONSuffixAreJSON() async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("one"))
        let fields: HTTPFields = [.contentType: "application/vnd.api+json; charset=utf-8"]
        _ = try await post(fixture, "[1]", fields)
        #expect(try await post(fixture, " [ 1 ] ", fields).response.outcome.isHit)
    }

    /// Mutant: the members of all requests are ignored.
    @Test func queryIsKeyedByItsBytes() async throws {
        let fixture = fixture(ignoring: ["user"])
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        for (json, text) in [(#"{"user":1}"#, "one"), (#"{"user":2}"#, "two")] {
            var request = try request(fixture, json)
            request.head.method = try #require(HTTPRequest.Method(rawValue: "QUERY"))
            let response = try await fixture.engine.respond(to: request)
            #expect(String(buffer: try await response.body.collect(upTo: 99)) == text)
        }
    }

    // MARK: credentials: none

    /// Mutant: only credentials that no rule ignores count.
    @Test(
        arguments: [
            [.authorization: "Bearer a"], [.cookie: "a=1"], [HTTPField.Name("X-Api-Key") ?? .accept: "a"],
        ] as [HTTPFields]
    )
    func requestsWithCredentialsBypassTheStore(_ credentials: HTTPFields) async throws {
        let fixture = fixture(ignoring: ["user"]) {
            $0.admitsCredentials = false
            $0.ignoredFields = [.cookie]
        }
        let fields: HTTPFields = [.cacheControl: "public, max-age=60"]
        for number in 1...3 { fixture.transport.script(url, .ok("\(number)", fields: fields)) }
        let first = try await post(fixture, #"{"user":1}"#, credentials)
        #expect(first.text == "1" && first.response.outcome.forward == .bypass)
        #expect(fixture.memory.all.isEmpty)
        #expect(try await post(fixture, #"{"user":2}"#).text == "2", "without credentials")
        #expect(try await post(fixture, #"{"user":3}"#).response.outcome.isHit)
        #expect(try await post(fixture, #"{"user":2}"#, credentials).text == "3")
        let prepared = try #require(fixture.engine.prepare(request(fixture, "{}", credentials)))
        #expect(prepared.key == nil && prepared.changes.last == .credentialsNotStored)
    }

    /// A key that the operator's rule sets is the same for all clients.
    @Test func fieldsOfTheOperatorAreNoCredentials() async throws {
        let fixture = fixture {
            $0.admitsCredentials = false
            $0.requestFields.set = [.authorization: "Bearer operators"]
        }
        fixture.transport.script(url, .fresh("one"))
        _ = try await post(fixture, "[1]", [.authorization: "Bearer clients"])
        #expect(try await post(fixture, "[1]").response.outcome.isHit)
        #expect(fixture.transport.requests.map { $0.headerFields[.authorization] } == ["Bearer operators"])
    }

    // MARK: Tools

    @Test func changesNameTheFormAndTheMembers() throws {
        let fixture = fixture(ignoring: ["user", "a[*]"])
        let json = try #require(fixture.engine.prepare(request(fixture, "{}")))
        #expect(json.changes == [.keyedJSON, .ignoredMember("user"), .ignoredMember("a[*]")])
        let other = try #require(fixture.engine.prepare(request(fixture, "{")))
        #expect(other.changes == [.keyedContent])
    }

    @Test func digestOfStoredContentCannotBeMadeAgain() async throws {
        let fixture = fixture(ignoring: ["user"])
        fixture.transport.script(url, .fresh("one"))
        _ = try await post(fixture, "[1]")
        let stored = try #require(fixture.memory.all.first)
        func ruled(_ change: @escaping @Sendable (inout ExchangeSettings) -> Void) -> RuledResponse {
            RuledResponse(stored, rules: TestRules(change), policy: CachePolicy(kind: .shared))
        }
        let old = ruled {
            $0.keyedContent = .json
            $0.ignoredMembers = MemberPaths(["user"])
        }
        #expect(ruled { $0.keyedContent = .json }.unknowns(since: old) == [.content])
        #expect(ruled { $0.keyedContent = .any }.unknowns(since: old) == [.content])
        #expect(old.unknowns(since: old).isEmpty)
    }
}
