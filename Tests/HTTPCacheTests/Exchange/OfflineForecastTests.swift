import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCache

/// The offline forecast comes true in an outage.
@Suite(.timeLimit(.minutes(20))) struct OfflineForecastTests {
    private static let lifetimes = [
        "max-age=60", "max-age=60, must-revalidate", "max-age=60, no-cache", "max-age=60, s-maxage=60", "max-age=7000",
        "max-age=60, stale-while-revalidate=90", "max-age=60, proxy-revalidate", "max-age=0",
    ]

    /// Whether the forecast says that a request is answered, and whether it is when its origin is
    /// unreachable.
    private func outcome(
        _ lifetime: String,
        age: Int,
        in mode: OfflineMode,
        after time: Duration
    ) async throws -> (expected: Bool, real: Bool, answer: OfflineForecast) {
        let fixture = EngineFixture(kind: .shared, mode: mode)
        let reply = ScriptedTransport.Reply.ok("old", fields: [.cacheControl: lifetime, .eTag: "\"1\""])
        fixture.transport.script(EngineFixture.url, reply, .failure(.connect), .failure(.connect), .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(age))
        let found = try await fixture.memory.lookup(try #require(fixture.engine.key(for: fixture.request())))
        let prepared = try #require(fixture.engine.prepare(try fixture.request()))
        let forecast = OfflineForecast.Subject(prepared, found).forecast(at: fixture.clock.now())
        let expected =
            time == .seconds(3600)
            ? forecast.isAnswerableAfterHour
            : time == .seconds(86_400) ? forecast.isAnswerableAfterDay : forecast.refusal == nil
        fixture.clock.advance(by: time)
        return (expected, await fixture.failure() == nil, forecast)
    }

    @Test(arguments: lifetimes, [OfflineMode.online, .automatic, .preferStored])
    func forecastComesTrue(_ lifetime: String, _ mode: OfflineMode) async throws {
        for age in [0, 30, 61, 100, 5000, 100_000] {
            for time in [Duration.zero, .seconds(3600), .seconds(86_400)] {
                let outcome = try await outcome(lifetime, age: age, in: mode, after: time)
                #expect(outcome.expected == outcome.real, "\(lifetime), \(age) s old, after \(time)")
            }
        }
    }

    @Test func reasonsAreThoseOfTheRefusal() async throws {
        let stale = try await outcome("max-age=60, must-revalidate", age: 61, in: .automatic, after: .zero)
        #expect(stale.answer.refusal?.forbiddenBy == "must-revalidate" && !stale.expected)
        let well = try await outcome("max-age=60", age: 61, in: .automatic, after: .zero)
        #expect(well.answer.refusal == nil && well.expected)
    }

    @Test func responsesSayWhatWasStoredWhenTheirRequestCame() async throws {
        let fixture = EngineFixture(kind: .shared)
        let reply = ScriptedTransport.Reply.ok(
            "a",
            fields: [.cacheControl: "max-age=60, must-revalidate", .eTag: "\"1\""]
        )
        let confirmed = ScriptedTransport.Reply.notModified([.cacheControl: "max-age=60"])
        fixture.transport.script(EngineFixture.url, reply, confirmed)
        func forecast() async throws -> OfflineForecast? {
            try await fixture.get().response.forecastSubject?.forecast(at: fixture.clock.now())
        }
        // Nothing was stored; then it was fresh; then it could not be used without its origin.
        #expect(try await forecast()?.refusal?.code == .originUnreachable)
        let hit = try #require(try await forecast())
        #expect(hit.refusal == nil && !hit.isAnswerableAfterHour)
        fixture.clock.advance(by: .seconds(61))
        #expect(try await forecast()?.refusal?.forbiddenBy == "must-revalidate")
    }
}
