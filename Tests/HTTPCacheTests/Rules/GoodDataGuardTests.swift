import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Bad data does not replace good data.
@Suite(.timeLimit(.minutes(20))) struct GoodDataGuardTests {
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

    @Test func captivePortalPageIsNotBelieved() async throws {
        let portal = ScriptedTransport.Reply.ok("<html>", fields: [.contentType: "text/html; charset=utf-8"])
        let fixture = try await fixture(GoodDataGuard(), portal)
        let result = try await fixture.get()
        #expect(result.text == list)
        #expect(result.response.outcome.cacheStatus() == "holdfast; fwd=stale; fwd-status=200; ttl=-1; detail=guarded")
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == list)
    }

    @Test func withoutGuardOriginIsBelieved() async throws {
        let fixture = try await fixture(
            nil,
            .ok("<html>", fields: [.contentType: "text/html", .cacheControl: "max-age=9"])
        )
        let result = try await fixture.get()
        #expect(result.text == "<html>")
    }

    @Test func emptyBodyIsNotBelieved() async throws {
        let fixture = try await fixture(GoodDataGuard(), json(""))
        let result = try await fixture.get()
        #expect(result.text == list)
    }

    @Test func emptyBodyOfUnknownLengthIsNotStored() async throws {
        let empty = ScriptedTransport.Reply.ok(
            "",
            fields: [.contentType: "application/json", .cacheControl: "max-age=60"]
        )
        let fixture = try await fixture(GoodDataGuard(), empty)
        let result = try await fixture.get()
        #expect(result.text.isEmpty)
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == list)
    }

    @Test func shrunkJSONIsNotBelieved() async throws {
        var guarding = GoodDataGuard()
        guarding.minimumJSONShare = 0.5
        let shrunk = try await fixture(guarding, json(#"["one"]"#))
        let refused = try await shrunk.get()
        #expect(refused.text == list)
        let similar = try await fixture(guarding, json(#"["one","two","three"]"#))
        let accepted = try await similar.get()
        #expect(accepted.text == #"["one","two","three"]"#)
    }

    @Test func networkOnlyGetsBadDataAndStoreKeepsGoodData() async throws {
        let fixture = try await fixture(
            GoodDataGuard(),
            .ok("<html>", fields: [.contentType: "text/html", .cacheControl: "max-age=9"])
        )
        let result = try await fixture.get(preference: .networkOnly)
        #expect(result.text == "<html>")
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == list)
    }

    @Test func guardCanRejectOnlyHTML() async throws {
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

    /// Mutant: the repeated request may be rejected again: it is repeated forever.
    @Test func suspiciousDataIsPassedOnWithoutReplacement() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let page: HTTPFields = [.contentType: "text/html", .cacheControl: "max-age=9"]
        let portal = ScriptedTransport.Reply.ok("<html>", fields: page)
        let good: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=60"]
        fixture.transport.script(url, .ok("[1]", fields: good), portal, portal)
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        fixture.store.fail([.openBody])
        let result = try await fixture.get()
        #expect(result.text == "<html>")
        #expect(fixture.transport.unscripted.isEmpty)
    }

    /// Mutant: the guard looks at a response's length whatever its status.
    @Test func emptyRedirectIsAccepted() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let moved: HTTPFields = [.cacheControl: "max-age=60", .location: "/new"]
        fixture.transport.script(url, .fresh("one"), .status(.permanentRedirect, fields: moved))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        let again = try await fixture.get()
        #expect(again.response.head.status == .permanentRedirect)
        #expect(again.response.outcome.isHit)
    }

    /// Portals forbid storing their page. Mutant: the guard is asked after storability.
    @Test func unstorablePortalPageIsNotBelieved() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let good: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=60"]
        let portal: HTTPFields = [.contentType: "text/html", .cacheControl: "no-store"]
        fixture.transport.script(url, .ok("[1]", fields: good), .ok("<html>", fields: portal))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let result = try await fixture.get()
        #expect(result.text == "[1]")
        #expect(result.response.outcome.detail == .guarded)
    }
}
