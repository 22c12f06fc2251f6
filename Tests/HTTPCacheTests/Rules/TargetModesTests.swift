import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Modes for some targets of an engine.
@Suite(.timeLimit(.minutes(20))) struct TargetModesTests {
    /// A mode for the targets below a path.
    private struct PathMode: TargetModes {
        let path: String
        let mode: OfflineMode

        func mode(for target: TargetURI) -> OfflineMode? { target.path.hasPrefix(path) ? mode : nil }
    }

    /// Sets a mode for all targets.
    private struct ModeRules: ExchangeRules {
        let own: RequestRules

        init(_ mode: OfflineMode) {
            var settings = ExchangeSettings()
            settings.mode = mode
            own = RequestRules(settings: settings)
        }

        func rules(for request: HTTPRequest) -> RequestRules { own }

        func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
    }

    /// Mutant: `mode-of-an-origin-relaxes`.
    @Test(arguments: OfflineMode.allCases, OfflineMode.allCases)
    func strictestModeWins(_ engine: OfflineMode, _ own: OfflineMode) throws {
        for rule in OfflineMode.allCases {
            let fixture = EngineFixture(mode: engine, rules: ModeRules(rule))
            fixture.engine.targetModes = PathMode(path: "/feed", mode: own)
            let strictest = try #require(
                [engine, own, rule].max { one, other in
                    OfflineMode.leastNetwork(one, other) == other && one != other
                }
            )
            let request = try fixture.request()
            #expect(fixture.engine.mode(for: request) == strictest)
        }
    }

    @Test func onlyTheNamedTargetsAreKeptFromTheNetwork() async throws {
        let fixture = EngineFixture()
        let other = "https://a.example/other"
        fixture.transport.script(other, .fresh("other"))
        fixture.transport.script(EngineFixture.url, .fresh("feed"))
        fixture.engine.targetModes = PathMode(path: "/feed", mode: .offline)
        #expect(await fixture.failure() == .offlineMiss)
        #expect(await fixture.failure("https://a.example/feed/1") == .offlineMiss)
        let free = try await fixture.get(other)
        #expect(free.text == "other")
        fixture.engine.targetModes = nil
        let feed = try await fixture.get()
        #expect(feed.text == "feed")
    }

    /// Repeated hits from memory are checked against this number only, so they cost the same as
    /// without switches.
    @Test func onlyAChangeEndsRepeatedHits() async throws {
        let fixture = EngineFixture()
        let before = fixture.engine.settingsVersion
        fixture.engine.targetModes = PathMode(path: "/feed", mode: .offline)
        #expect(fixture.engine.settingsVersion == before + 1)
        #expect(await fixture.failure() == .offlineMiss)
        #expect(fixture.engine.settingsVersion == before + 1)
    }
}
