import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct HoldfastRulesTests {
    private static let tool = Tool("holdfast")
    private static let secret = "hunter2"

    private static let old = "version: 1\n"
    private static let new = """
        version: 1
        store: {secure-delete: true}
        rules:
          - name: lists
            match: {url: "http://a.example/list"}
            ignore: {parameters: [session]}
          - name: images
            match: {url: "http://a.example/*.png", content-type: image/*}
            freshness: {lifetime: 1 h}
            stale: {ignore: [must-revalidate], offline: 7 d}
          - name: agents
            match: {url: "http://a.example/agents"}
            ignore: {fields: [User-Agent]}

        """

    private struct Place {
        var store: String
        var old: String
        var new: String
    }

    /// A closed store, and two files beside it.
    private func withStore(_ new: String = Self.new, _ body: (Place) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let place = Place(
                store: folder.appendingPathComponent("a.store").path,
                old: folder.appendingPathComponent("old.yaml").path,
                new: folder.appendingPathComponent("new.yaml").path
            )
            try Data(Self.old.utf8).write(to: URL(fileURLWithPath: place.old))
            try Data(new.utf8).write(to: URL(fileURLWithPath: place.new))
            let store = try await CacheManager.open(at: place.store)
            try await fill(store)
            try await store.close()
            try await body(place)
        }
    }

    @Test func commandsRunWithoutSecretsOfFile() async throws {
        let new = """
            version: 1
            rules:
              - name: key
                match: {url: "http://a.example/**"}
                to-origin: {set: {X-Api-Key: {env: HOLDFAST_TEST_NOT_SET}, X-Other: {file: not-there.txt}}}

            """
        try await withStore(new) { place in
            let diff = try await Self.tool.run("rules", "diff", place.old, place.new, "--store", place.store)
            #expect(diff.status == 0, "\(diff.error)")
            let explained = try await Self.tool.run(
                "explain",
                "http://a.example/list?page=2",
                "--store",
                place.store,
                "--config",
                place.new
            )
            #expect(explained.status == 0, "\(explained.error)")
            let checked = try await Self.tool.run("check", "--config", place.new)
            #expect(checked.status == 1)
            #expect(checked.error.contains("HOLDFAST_TEST_NOT_SET"))
        }
    }

    private func fill(_ store: CacheManager) async throws {
        let now = SystemWallClock().now()
        let responses: [(String, HTTPFields, HTTPFields, Int64)] = [
            ("/list?session=\(Self.secret)-one&page=1", [.cacheControl: "max-age=60"], [:], -20_000),
            ("/list?session=\(Self.secret)-two&page=1", [.cacheControl: "max-age=60"], [:], -10_000),
            ("/list?page=2", [.cacheControl: "max-age=60"], [:], -10_000),
            ("/a.png", [.cacheControl: "max-age=60, must-revalidate", .contentType: "image/png"], [:], -10_000),
            ("/b.png", [.cacheControl: "max-age=60", .contentType: "text/html"], [:], -10_000),
            (
                "/agents", [.cacheControl: "max-age=60", .vary: "User-Agent"], [.userAgent: "\(Self.secret)-agent"],
                -10_000
            ),
            ("/other", [.cacheControl: "max-age=60"], [:], -10_000),
        ]
        for (path, fields, selecting, distance) in responses {
            let received = now.adding(milliseconds: distance)
            let head = StoredResponseHead(
                selectingFields: selecting,
                status: .ok,
                fields: fields,
                requestTime: received,
                responseTime: received
            )
            let draft = ResponseDraft(
                key: StoreKey(target: try TargetURI("http://a.example\(path)")),
                head: head,
                freshUntil: CachePolicy(kind: .private).freshUntil(head),
                isUsableStale: fields[.cacheControl]?.contains("must-revalidate") != true,
                storedAt: received
            )
            let fencingNumber = store.responses.invalidationSequence
            let writer = try #require(try await store.responses.beginWrite(draft, fencingNumber: fencingNumber))
            try await writer.append(ByteBuffer(string: "body of \(path.prefix { $0 != "?" })\(distance)"))
            _ = try #require(try await writer.finish())
        }
    }

    private func bytes(of folder: String) throws -> [String: Data] {
        var bytes: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasSuffix("-shm") {
            bytes[name] = try Data(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent(name))
        }
        return bytes
    }

    // MARK: diff

    @Test func diffCountsChangesByRule() async throws {
        try await withStore { place in
            let before = try bytes(of: place.store)
            let outcome = try await Self.tool.run("rules", "diff", place.old, place.new, "--store", place.store)
            #expect(outcome.status == 0 && outcome.error == "")
            #expect(
                outcome.text == """
                    4 of 7 stored responses change when '\(place.new)' replaces '\(place.old)'. Nothing was changed.

                      key               3  looked up under a new key; 'holdfast rules apply' moves them; 1 replaced by newer responses there
                      lifetime          1  fresh for longer or shorter
                      staleness         1  usable when stale for longer or shorter

                    Because of rule 'lists' (line 4): key 2
                      GET http://a.example/list?session=REDACTED&page=1
                          key        http://a.example/list?page=1
                      GET http://a.example/list?session=REDACTED&page=1
                          key        http://a.example/list?page=1

                    Because of rule 'images' (line 7): lifetime 1, staleness 1
                      GET http://a.example/a.png
                          lifetime   1 h instead of 1 m
                          staleness  stale use: allowed instead of forbidden by must-revalidate
                          staleness  offline: 7 d instead of unlimited

                    Because of rule 'agents' (line 11): key 1
                      GET http://a.example/agents
                          key        another variant, selected by other fields

                    """
            )
            #expect(try bytes(of: place.store) == before)
        }
    }

    @Test func diffJSONHasObjectPerRuleAndSummary() async throws {
        try await withStore { place in
            let arguments = ["rules", "diff", place.old, place.new, "--store", place.store, "--format", "json"]
            let outcome = try await Self.tool.run(arguments: arguments + ["--examples", "1"])
            #expect(outcome.status == 0)
            let objects = try outcome.objects()
            #expect(objects.compactMap { $0["rule"] as? String } == ["lists", "images", "agents"])
            #expect(objects.first?["keys"] as? Int == 2 && objects.first?["in"] as? String == "new")
            #expect(objects[1]["lifetimes"] as? Int == 1 && objects[1]["stalenesses"] as? Int == 1)
            #expect(objects.dropLast().allSatisfy { ($0["examples"] as? [Any])?.count == 1 })
            let summary = try #require(objects.last)
            #expect(summary["kind"] as? String == "summary")
            #expect(summary["examined"] as? Int == 7 && summary["changed"] as? Int == 4)
            #expect(summary["keys"] as? Int == 3 && summary["superseded"] as? Int == 1)
            #expect(!outcome.text.contains(Self.secret))
            let help = try await Self.tool.run("rules", "diff", "--help").text
            for key in objects.flatMap(\.keys) { #expect(help.contains(key), "\(key)") }
            // In the other direction, the same rules decide as removed ones. Responses with an
            // ignored parameter are 'untold'.
            let back = try await Self.tool.run(
                arguments: ["rules", "diff", place.new, place.old, "--store", place.store, "--format", "json"]
            )
            let untold = try back.objects().filter { ($0["untold"] as? Int ?? 0) > 0 }
            #expect(untold.compactMap { $0["rule"] as? String } == ["lists", "agents"])
            #expect(untold.dropLast().allSatisfy { $0["in"] as? String == "old" })
            #expect(untold.last?["kind"] as? String == "summary" && untold.last?["untold"] as? Int == 4)
        }
    }

    @Test func diffReportsUnknownAndBypassedResponses() async throws {
        let new = """
            version: 1
            rules:
              - {name: mine, match: {url: "http://a.example/other"}, store: {per: {cookie: sid}}}
              - {name: away, match: {url: "http://a.example/list"}, bypass: true}

            """
        try await withStore(new) { place in
            let outcome = try await Self.tool.run("rules", "diff", place.old, place.new, "--store", place.store)
            #expect(outcome.status == 0)
            #expect(outcome.text.contains("Because of rule 'mine' (line 3): untold 1"))
            #expect(outcome.text.contains("untold     the principal is not stored"))
            #expect(outcome.text.contains("Because of rule 'away' (line 4): passed by 3"))
            let applied = try await Self.tool.run("rules", "apply", place.new, "--store", place.store)
            #expect(applied.text == "7 stored responses examined; nothing to change.\n")
        }
    }

    @Test func equalRulesChangeNothing() async throws {
        try await withStore { place in
            let outcome = try await Self.tool.run("rules", "diff", place.old, place.old, "--store", place.store)
            #expect(outcome.status == 0)
            #expect(outcome.lines.count == 1 && outcome.text.hasPrefix("0 of 7 stored responses change"))
        }
    }

    // MARK: apply

    @Test func applyMovesResponsesAndErasesIgnoredValues() async throws {
        try await withStore { place in
            #expect(try bytes(of: place.store).values.contains { $0.range(of: Data(Self.secret.utf8)) != nil })
            let outcome = try await Self.tool.run("rules", "apply", place.new, "--store", place.store)
            #expect(outcome.status == 0 && outcome.error == "")
            #expect(
                outcome.text == """
                    7 stored responses examined: 3 have a new key or variant, 1 a new expiry.
                    1 replaced by newer responses under the new key.

                    """
            )
            for (name, bytes) in try bytes(of: place.store) {
                #expect(bytes.range(of: Data(Self.secret.utf8)) == nil, "\(name)")
            }
            let verification = try await Tool.cacheDump.run("verify", place.store, "--full")
            #expect(verification.status == 0, "\(verification.text)")
            let list = try await Tool.cacheDump.run("list", place.store, "--format", "json").objects()
            #expect(list.count == 6)
            let image = try #require(list.first { $0["url"] as? String == "http://a.example/a.png" })
            #expect(image["usableStale"] as? Bool == true)
            #expect(image["timeToLiveSeconds"] as? Double ?? 0 > 3000)
            let store = try await CacheManager.openReadOnly(at: place.store)
            let key = StoreKey(target: try TargetURI("http://a.example/list?page=1"))
            let found = try #require(try await store.storedResponse(for: key))
            #expect(String(buffer: found.response.body) == "body of /list-10000")
            try await store.close()
            let again = try await Self.tool.run(
                arguments: ["rules", "apply", place.new, "--store", place.store, "--format", "json"]
            )
            let report = try #require(try again.objects().first)
            #expect(report["examined"] as? Int == 6 && report["moved"] as? Int == 0 && report["reindexed"] as? Int == 0)
            let help = try await Self.tool.run("rules", "apply", "--help").text
            for key in report.keys { #expect(help.contains(key), "\(key)") }
            // No response is left to move.
            let difference = try await Self.tool.run(
                arguments: ["rules", "diff", place.new, place.new, "--store", place.store]
            )
            #expect(difference.text.hasPrefix("0 of 6"))
        }
    }

    // MARK: Wrong input

    @Test func applyRejectsStoreInUse() async throws {
        try await withStore { place in
            let store = try await CacheManager.open(at: place.store)
            let outcome = try await Self.tool.run("rules", "apply", place.new, "--store", place.store)
            #expect(outcome.status == 1 && outcome.output.isEmpty)
            #expect(outcome.error.contains("in use") || outcome.error.contains("process"), "\(outcome.error)")
            // A comparison needs no exclusive access.
            let difference = try await Self.tool.run("rules", "diff", place.old, place.new, "--store", place.store)
            #expect(difference.status == 0)
            try await store.close()
        }
    }

    @Test(arguments: ["diff", "apply"])
    func missingStoreIsNotCreated(command: String) async throws {
        try await withStore { place in
            let missing = place.store + "-missing"
            let files = command == "diff" ? [place.old, place.new] : [place.new]
            let outcome = try await Self.tool.run(arguments: ["rules", command] + files + ["--store", missing])
            #expect(outcome.status == 1 && outcome.output.isEmpty)
            #expect(outcome.error.contains("a.store-missing"), "\(outcome.error)")
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }

    @Test(arguments: ["diff", "apply"])
    func invalidConfigurationIsReportedWithLines(command: String) async throws {
        try await withStore("version: 1\nrules:\n  - {name: a, freshnes: {}}\n  - {bypass: 7}\n") { place in
            let before = try bytes(of: place.store)
            let files = command == "diff" ? [place.old, place.new] : [place.new]
            let outcome = try await Self.tool.run(arguments: ["rules", command] + files + ["--store", place.store])
            #expect(outcome.status == 1 && outcome.output.isEmpty)
            #expect(
                outcome.error.contains("new.yaml:3: ") && outcome.error.contains("new.yaml:4: "),
                "\(outcome.error)"
            )
            #expect(try bytes(of: place.store) == before)
            let missing = command == "diff" ? [place.old, "/nowhere.yaml"] : ["/nowhere.yaml"]
            let none = try await Self.tool.run(arguments: ["rules", command] + missing + ["--store", place.store])
            #expect(none.status == 1 && none.error.contains("/nowhere.yaml"), "\(none.error)")
        }
    }

    @Test(arguments: [
        ["rules", "diff"], ["rules", "diff", "a.yaml"], ["rules", "diff", "a.yaml", "b.yaml"],
        ["rules", "diff", "a.yaml", "b.yaml", "--store", "s", "--examples=-1"],
        ["rules", "diff", "a.yaml", "b.yaml", "--store", "s", "--format", "xml"],
        ["rules", "diff", "a.yaml", "b.yaml", "--store", "s", "--shared", "--private"],
        ["rules", "apply"], ["rules", "apply", "a.yaml"], ["rules", "apply", "a.yaml", "b.yaml", "--store", "s"],
        ["rules", "undo"],
    ])
    func wrongCommandLineIsReported(arguments: [String]) async throws {
        let outcome = try await Self.tool.run(arguments: arguments)
        #expect(outcome.status == 64 && outcome.output.isEmpty)
        #expect(outcome.error.contains("Usage:"))
    }
}
