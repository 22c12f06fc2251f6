import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// docs/attacks.md, 81: the response to TRACE is the request, so no secret is in it. RFC 9110
/// §9.3.8
///
/// Mutants: TRACE gets the fields of rules; only TRACE in this spelling is known.
@Suite(.timeLimit(.minutes(20))) struct TraceTests {
    static let methods = ["TRACE", "trace", "Trace", "tRACE", "TRACK", "track", "TrAcK"]

    @Test(arguments: methods) func returnsTheRequest(_ method: String) throws {
        #expect(try #require(HTTPRequest.Method(method)).returnsRequest)
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACES", "TRAC", "T-ACE", "TRAC\u{60}", "STACK", "b-r*w"])
    func otherMethodsDoNot(_ method: String) throws {
        #expect(try #require(HTTPRequest.Method(method)).returnsRequest == false)
    }

    @Test(
        arguments: methods + ["GET", "OPTIONS", "POST"],
        [CacheKind.shared, .private]
    )
    func sendsNoRuleFieldOrCredentialWhateverTheRuleSays(_ name: String, kind: CacheKind) async throws {
        let method = try #require(HTTPRequest.Method(name))
        let secret = try #require(HTTPField.Name("X-Origin-Secret"))
        let fixture = EngineFixture(
            kind: kind,
            rules: TestRules { (settings: inout ExchangeSettings) in
                settings.requestFields.set = [secret: "operator"]
                settings.requestFields.removed = [.referer]
            }
        )
        var fields: HTTPFields = [.userAgent: "agent", .referer: "secret"]
        let credentials = RequestFieldTable.all.filter { [.credential, .proof].contains($0.meaning) }
            .compactMap { HTTPField.Name($0.name) }
        for name in credentials + [secret] { fields[name] = "client" }
        fixture.transport.script(EngineFixture.url, .ok("x"))
        try await fixture.get(EngineFixture.url, fields, method: method)
        let sent = try #require(fixture.transport.requests.first).headerFields
        #expect(sent[.userAgent] == "agent" && sent[.referer] == nil)
        let isTrace = method.returnsRequest
        #expect(sent[secret] == (isTrace ? nil : "operator"))
        #expect(credentials.allSatisfy { sent.contains($0) != isTrace })
    }
}
