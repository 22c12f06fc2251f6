import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Good data is not lost to bad.
@Suite struct GoodDataGuardTests {
    private let url = EngineFixture.url
    private let list = #"["one","two","three","four"]"#

    private func json(_ text: String) -> ScriptedTransport.Reply {
        .ok(
            text,
            fields: [
                .contentType: "application/json", .cacheControl: "max-age=60", .contentLength: "\(text.utf8.count)",
            ]
        )
    }

    private func fixture(_ guarding: GoodDataGuard?, _ next: ScriptedTransport.Reply) async throws -> EngineFixture {
        let fixture = EngineFixture { $0.goodDataGuard = guarding }
        fixture.transport.script(url, json(list), next)
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        return fixture
    }

    @Test func aCaptivePortalsPageIsNotBelieved() async throws {
        let portal = ScriptedTransport.Reply.ok("<html>", fields: [.contentType: "text/html; charset=utf-8"])
        let fixture = try await fixture(GoodDataGuard(), portal)
        let answer = try await fixture.get()
        #expect(answer.text == list)
        #expect(answer.response.outcome.cacheStatus() == "holdfast; fwd=stale; fwd-status=200; ttl=-1; detail=guarded")
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == list)
    }

    @Test func withoutItTheOriginIsBelieved() async throws {
        let fixture = try await fixture(
            nil,
            .ok("<html>", fields: [.contentType: "text/html", .cacheControl: "max-age=9"])
        )
        let answer = try await fixture.get()
        #expect(answer.text == "<html>")
    }

    @Test func anEmptyBodyIsNotBelieved() async throws {
        let fixture = try await fixture(GoodDataGuard(), json(""))
        let answer = try await fixture.get()
        #expect(answer.text == list)
    }

    @Test func anEmptyBodyWhoseLengthWasNotAnnouncedIsNotStored() async throws {
        let empty = ScriptedTransport.Reply.ok(
            "",
            fields: [.contentType: "application/json", .cacheControl: "max-age=60"]
        )
        let fixture = try await fixture(GoodDataGuard(), empty)
        let answer = try await fixture.get()
        #expect(answer.text.isEmpty)
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == list)
    }

    @Test func jsonThatShrankBelowItsShareIsNotBelieved() async throws {
        var guarding = GoodDataGuard()
        guarding.minimumJSONShare = 0.5
        let shrunk = try await fixture(guarding, json(#"["one"]"#))
        let refused = try await shrunk.get()
        #expect(refused.text == list)
        let similar = try await fixture(guarding, json(#"["one","two","three"]"#))
        let accepted = try await similar.get()
        #expect(accepted.text == #"["one","two","three"]"#)
    }

    @Test func whoAsksTheNetworkAloneHasItsAnswerAndTheStoreKeepsItsOwn() async throws {
        let fixture = try await fixture(
            GoodDataGuard(),
            .ok("<html>", fields: [.contentType: "text/html", .cacheControl: "max-age=9"])
        )
        let answer = try await fixture.get(preference: .networkOnly)
        #expect(answer.text == "<html>")
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == list)
    }

    @Test func aPageOfHTMLCanBeRefusedAlone() async throws {
        var guarding = GoodDataGuard()
        guarding.refusesOtherMediaType = false
        guarding.refusesHTML = true
        for type in ["text/html; charset=utf-8", "TEXT/HTML", "application/xhtml+xml"] {
            let page = ScriptedTransport.Reply.ok("<html>", fields: [.contentType: type, .cacheControl: "max-age=9"])
            let fixture = try await fixture(guarding, page)
            #expect(try await fixture.get().text == list)
        }
        for type in ["text/plain", "application/hal+json", nil] {
            var fields: HTTPFields = [.cacheControl: "max-age=9"]
            fields[.contentType] = type
            let fixture = try await fixture(guarding, .ok("other", fields: fields))
            #expect(try await fixture.get().text == "other")
        }
    }
}
