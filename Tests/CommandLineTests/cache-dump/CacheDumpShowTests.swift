import Foundation
import Testing

/// cache-dump show and stats.
@Suite(.timeLimit(.minutes(20)))
struct CacheDumpShowTests {
    @Test func urlShortIDAndObjectKeyFindTheirEntries() async throws {
        try await SampleStore.with { store in
            let byURL = try await Tool.cacheDump.run("show", store, SampleStore.feed, "--format", "json")
            let feed = try #require(try byURL.objects().first)
            let id = try #require(feed["id"] as? String)
            for prefix in [id, String(id.prefix(12)), id.uppercased()] {
                let byID = try await Tool.cacheDump.run("show", store, prefix, "--format", "json")
                #expect(try byID.objects().first?["url"] as? String == SampleStore.feed)
            }
            let byKey = try await Tool.cacheDump.run("show", store, "old/draft", "--format", "json")
            let object = try #require(try byKey.objects().first)
            #expect(object["state"] as? String == "expired")
            #expect(object["bodyPreview"] as? String == #"{"title":"old"}"#)
        }
    }

    @Test func textShowsStateFieldsAndBody() async throws {
        try await SampleStore.with { store in
            let text = try await Tool.cacheDump.run("show", store, SampleStore.feed).text
            #expect(text.hasPrefix("GET \(SampleStore.feed)\n"))
            #expect(text.contains("stale: validated before use; usable if the origin is unreachable"))
            #expect(text.contains("1m (max-age)"))
            #expect(text.contains("\n  ETag: \"1\"\n"))
            #expect(text.hasSuffix("\nbody\n  {\"moments\":[]}\n"))
        }
    }

    @Test func jsonShowsFreshnessAndFields() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("show", store, SampleStore.feed, "--format", "json")
            let feed = try #require(try outcome.objects().first)
            #expect(feed["freshnessSource"] as? String == "maxAge")
            #expect(feed["freshnessLifetimeSeconds"] as? Double == 60)
            #expect((feed["fields"] as? [[String]])?.contains(["Cache-Control", "max-age=60"]) == true)
        }
    }

    @Test func variantsAreShownTogetherAndChosenByNumber() async throws {
        try await SampleStore.with { store in
            let url = "http://a.example/greeting"
            let both = try await Tool.cacheDump.run("show", store, url, "--format", "json").objects()
            #expect(both.count == 2)
            let ambiguous = try await Tool.cacheDump.run("show", store, url, "--body")
            #expect(ambiguous.status == 1)
            #expect(ambiguous.text == "")
            #expect(ambiguous.error.contains("2 entries match"))
            for (object, language) in zip(both, ["de", "en"]) {
                let number = try #require(object["entry"] as? Int)
                let body = try await Tool.cacheDump.run("show", store, url, "--body", "--entry", "\(number)")
                #expect(body.text == language)
            }
            let wrong = try await Tool.cacheDump.run("show", store, url, "--entry", "99999")
            #expect(wrong.status == 1)
        }
    }

    @Test func previewIsBoundedAndTheBodyIsWhole() async throws {
        try await SampleStore.with { store in
            let url = "http://a.example/hour"
            let whole = try await Tool.cacheDump.run("show", store, url, "--body")
            #expect(whole.text == String(repeating: "é", count: 3_000))
            let shown = try await Tool.cacheDump.run("show", store, url)
            #expect(shown.text.contains("body, first 2048 bytes"))
            #expect(shown.text.utf8.count < 4_000)
            let binary = try await Tool.cacheDump.run("show", store, "http://a.example/strict", "--format", "json")
            #expect(try binary.objects().first?["bodyPreview"] is NSNull)
        }
    }

    @Test func controlCharactersDoNotReachTheTerminal() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("show", store, SampleStore.guarded)
            #expect(outcome.text.contains("guarded\\u{1b}[31m"))
            #expect(!outcome.text.contains("\u{1B}"))
        }
    }

    @Test func statsCountEntries() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("stats", store, "--format", "json")
            let stats = try #require(try outcome.objects().first)
            #expect(stats["responses"] as? Int == 6)
            #expect(stats["objects"] as? Int == 2)
            #expect(stats["expired"] as? Int == 3)
            #expect((stats["setAside"] as? [Any])?.isEmpty == true)
            let help = try await Tool.cacheDump.run("stats", "--help").text
            for key in stats.keys { #expect(help.contains(key)) }
            let text = try await Tool.cacheDump.run("stats", store).text
            #expect(text.contains("responses      6\n"))
        }
    }
}
