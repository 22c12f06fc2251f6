import Foundation
import HTTPCacheSemantics
import HoldfastTesting
import Testing

/// The fixtures, loaded and run through the public interface.
@Suite(.timeLimit(.minutes(20))) struct ExpiryFixtureTests {
    @Test func fixturesAreFound() throws {
        #expect(try ExpiryFixture.all().count >= 100)
    }

    @Test(arguments: try ExpiryFixture.all()) func policiesKeepTheFixture(_ fixture: ExpiryFixture) throws {
        try #require(!fixture.then.isEmpty && !fixture.caches.isEmpty)
        #expect(try fixture.findings() == [])
    }

    @Test func engineKeepsAllFixtures() async throws {
        for fixture in try ExpiryFixture.all() {
            #expect(try await fixture.findings(in: { InMemoryResponseStore() }) == [])
        }
    }

    private static let minute = """
        {"title": "a minute", "rfc": "RFC 9111", "caches": ["private"],
         "stored": {"request_time": "2026-03-01T12:00:00Z", "response_time": "2026-03-01T12:00:00Z",
                    "response": [["Cache-Control", "max-age=60"]]},
         "then": [{"at": "+60s", "expect": {"verdict": "fresh", "lifetime": 61}}]}
        """

    @Test func wrongExpectationIsReported() throws {
        let findings = try ExpiryFixture.decode(Data(Self.minute.utf8), name: "minute").findings()
        #expect(
            findings.map(\.description) == [
                "minute: a minute — verdict in a private cache at +60s: expected fresh, got validate",
                "minute: a minute — lifetime in a private cache at +60s: expected 61000, got 60000",
            ]
        )
    }

    @Test func wrongEngineIsReported() async throws {
        let fixture = try ExpiryFixture.decode(Data(Self.minute.utf8), name: "minute")
        let findings = try await fixture.findings(in: { InMemoryResponseStore() })
        #expect(
            findings.map(\.detail) == [
                "verdict in a private cache at +60s: expected stored, got stored after 1 requests"
            ]
        )
    }

    @Test func invalidFixtureIsNamed() {
        #expect(throws: ExpiryFixtureError.self) { try ExpiryFixture.decode(Data("{}".utf8), name: "nothing") }
        let wrong = Self.minute.replacing("+60s", with: "soon")
        #expect(throws: ExpiryFixtureError.self) { try ExpiryFixture.decode(Data(wrong.utf8)).findings() }
    }
}
