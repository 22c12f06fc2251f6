import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct CacheDumpListTests {
    @Test func tableIsAlignedAndHasARowPerEntry() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("list", store)
            #expect(outcome.status == 0)
            #expect(outcome.error == "")
            let lines = outcome.lines
            #expect(lines.count == 9)
            let head = try #require(lines.first)
            #expect(
                head.split(separator: " ").map(String.init).prefix(6) == [
                    "ID", "STATE", "AGE", "SIZE", "STATUS", "METHOD",
                ]
            )
            let column = try #require(head.range(of: "URL OR KEY")).lowerBound.utf16Offset(in: head)
            for line in lines.dropFirst() {
                let rest = String(line.dropFirst(column - 2))
                #expect(rest.hasPrefix("  ") && !rest.hasPrefix("   "), "\(line)")
            }
            #expect(lines[1].contains("  stale "))
            #expect(lines[1].contains(" 2m "))
            #expect(lines[1].hasSuffix(SampleStore.feed))
            #expect(lines[3].contains("  expired "))
            #expect(lines[5].hasSuffix("(varies by accept-language)"))
        }
    }

    @Test func jsonHasTheDocumentedKeysOnEveryLine() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("list", store, "--format", "json")
            let objects = try outcome.objects()
            #expect(objects.count == 8)
            let help = try await Tool.cacheDump.run("list", "--help").text
            for object in objects {
                #expect(
                    object.keys.sorted() == [
                        "ageSeconds", "bodyLength", "contentType", "entry", "expiresAt", "id", "key", "kind",
                        "lastUsedAt", "method", "partition", "pinned", "state", "status", "storedAt",
                        "timeToLiveSeconds", "url", "usableStale", "vary",
                    ]
                )
                for key in object.keys { #expect(help.contains(key)) }
                let date = try #require(object["storedAt"] as? String)
                #expect(date.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            }
            let feed = objects[0]
            #expect(feed["url"] as? String == SampleStore.feed)
            #expect(feed["kind"] as? String == "response")
            #expect(feed["state"] as? String == "stale")
            #expect(feed["status"] as? Int == 200)
            #expect(feed["bodyLength"] as? Int == 14)
            #expect(feed["key"] is NSNull)
            #expect((119...600).contains(try #require(feed["ageSeconds"] as? Double)))
            #expect(try #require(feed["timeToLiveSeconds"] as? Double) < -59)
            let draft = objects[6]
            #expect(draft["key"] as? String == "draft")
            #expect(draft["state"] as? String == "fresh")
            #expect(draft["expiresAt"] is NSNull)
        }
    }

    @Test(arguments: [
        (["--kind", "objects"], 2), (["--kind", "responses"], 6), (["--expired"], 3), (["--limit", "2"], 2),
        (["--url-prefix", "https://"], 1), (["--url-prefix", "http://a.example/"], 5),
        (["--url-prefix", "http://nowhere"], 0), (["--expired", "--kind", "objects"], 1),
    ])
    func filtersChooseEntries(filter: [String], count: Int) async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run(arguments: ["list", store, "--format", "json"] + filter)
            #expect(outcome.status == 0)
            #expect(outcome.lines.count == count)
            #expect(outcome.error.contains("No URL begins with 'http://nowhere'.") == (count == 0))
        }
    }

    @Test(arguments: ["text", "json"])
    func hidesSecrets(format: String) async throws {
        try await SampleStore.with { store in
            let list = try await Tool.cacheDump.run("list", store, "--format", format)
            #expect(list.text.contains("https://a.example/me?token=REDACTED&page=2"))
            let show = try await Tool.cacheDump.run("show", store, SampleStore.guarded, "--format", format)
            #expect(show.text.contains("sid=REDACTED"))
            let unknown = try await Tool.cacheDump.run("show", store, SampleStore.guarded + "&x", "--format", format)
            #expect(unknown.status == 1)
            for outcome in [list, show, unknown] {
                #expect(!outcome.text.contains(SampleStore.secret))
                #expect(!outcome.error.contains(SampleStore.secret))
                #expect(!outcome.text.contains("somebody"))
            }
        }
    }

    @Test func endsQuietlyWhenReaderClosesPipe() async throws {
        try await SampleStore.with { store in
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            let outcome = try await Tool.cacheDump.run("list", store, output: pipe.fileHandleForWriting)
            #expect(outcome.status == 0)
            #expect(!outcome.wasKilled)
            #expect(outcome.error == "")
        }
    }

    @Test func listsWhileTheStoreIsWritten() async throws {
        // SampleStore keeps its store open for writing meanwhile; reading it twice changes nothing.
        try await SampleStore.with { store in
            let first = try await Tool.cacheDump.run("list", store, "--format", "json")
            let second = try await Tool.cacheDump.run("list", store, "--format", "json")
            #expect(first.lines.count == second.lines.count)
        }
    }
}
