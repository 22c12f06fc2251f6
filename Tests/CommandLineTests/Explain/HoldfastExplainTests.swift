import Foundation
import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct HoldfastExplainTests {
    private static let holdfast = Tool("holdfast")
    private static let url = "https://api.example.com/feed?page=2"

    private struct FixedClock: WallClock {
        func now() -> Timestamp { Timestamp(seconds: 1_767_225_600) }
    }

    /// A store with one response of the beginning of 2026, and a folder for files beside it.
    private func withStore(
        of target: TargetURI? = nil,
        _ body: (_ store: String, _ folder: URL) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("a.store").path
            let now = FixedClock().now()
            let store = try await CacheManager.open(at: path, clock: FixedClock())
            let head = StoredResponseHead(
                status: .ok,
                fields: [.cacheControl: "max-age=300, must-revalidate", .eTag: "\"1\"", .setCookie: "sid=hunter2"],
                requestTime: now.adding(milliseconds: -250),
                responseTime: now
            )
            let draft = ResponseDraft(
                key: StoreKey(target: try target ?? TargetURI(Self.url)),
                head: head,
                freshUntil: CachePolicy(kind: .private).freshUntil(head),
                isUsableStale: false,
                storedAt: now
            )
            let fencingNumber = store.responses.invalidationSequence
            let writer = try #require(try await store.responses.beginWrite(draft, fencingNumber: fencingNumber))
            try await writer.append(ByteBuffer(string: "[]"))
            _ = try await writer.finish()
            try await store.close()
            try await body(path, folder)
        }
    }

    @Test func storeAndFileMayComeFromTheEnvironment() async throws {
        try await withStore { store, folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            let text = "version: 1\nstore: {path: a.store}\nrules: [{name: by-variable, freshness: {lifetime: 1 h}}]\n"
            try Data(text.utf8).write(to: file)
            func explain(_ environment: [String: String], _ more: [String] = []) async throws -> Tool.Outcome {
                try await Self.holdfast.run(arguments: ["explain", Self.url] + more, environment: environment)
            }
            let byFile = try await explain(["HOLDFAST_CONFIG": file.path])
            #expect(byFile.status == 0 && byFile.text.contains("by-variable"), "\(byFile)")
            let byStore = try await explain(["HOLDFAST_STORE": store])
            #expect(byStore.status == 0 && !byStore.text.contains("by-variable"), "\(byStore)")
            // An option takes precedence over every variable.
            let other = folder.appendingPathComponent("none.store").path
            let named = try await explain(["HOLDFAST_CONFIG": file.path], ["--store", other])
            #expect(named.status == 1, "\(named)")
            let none = try await explain(["HOLDFAST_CONFIG": ""])
            #expect(none.status == 64 && none.error.contains("Name a store"), "\(none)")
        }
    }

    /// The library stores such a URL encoded, and a gateway as its client sent it.
    @Test func findsBothFormsOfAURL() async throws {
        let url = "https://a.example/a{b}|c"
        for target in try TargetURI.readings(of: url) {
            try await withStore(of: target) { store, _ in
                let outcome = try await Self.holdfast.run("explain", url, "--store", store, "--format", "json")
                let variants = try outcome.objects().first?["variants"] as? [Any]
                #expect(outcome.status == 0 && variants?.count == 1, "\(target.uri) \(outcome)")
            }
        }
    }

    @Test func textShowsVerdictThenDetails() async throws {
        try await withStore { store, _ in
            let outcome = try await Self.holdfast.run(
                "explain",
                Self.url,
                "--store",
                store,
                "--at",
                "2026-01-01T00:01:40Z"
            )
            // The store's own names differ from store to store.
            var text = outcome.text.replacing(/calls it [0-9a-f]{16}/, with: "calls it ID")
            text = text.replacing(/→ [0-9]+ +/, with: "→ N  ")
            #expect(outcome.status == 0 && outcome.error.isEmpty)
            #expect(
                text == """
                    Would be served from the store: fresh for another 3 m 19 s (max-age=300).

                    GET https://api.example.com/feed?page=2
                      at        2026-01-01T00:01:40Z
                      cache     private, mode 'automatic'
                      key       GET https://api.example.com/feed?page=2
                                common; cache-dump calls it ID

                    stored
                      → N  200, stored 1 m 40 s earlier, 2 bytes, common: the only one stored

                    freshness, in seconds (RFC 9111 §4.2)
                      apparent_age           0           response_time - date_value (no valid Date; time of receipt used)
                      response_delay         0.250       response_time - request_time
                      corrected_age_value    0.250       age_value (no valid Age) + response_delay
                      corrected_initial_age  0.250       the larger of apparent_age and corrected_age_value
                      resident_time          100         now - response_time (2026-01-01T00:00:00Z)
                      current_age            100.250     corrected_initial_age + resident_time
                      freshness_lifetime     300         Cache-Control: max-age=300, must-revalidate
                      response_is_fresh      yes         until 2026-01-01T00:04:59.750Z

                    otherwise
                      origin unreachable  Same as now.
                      origin returns 503  Same as now.
                      mode 'offline'      Same as now.

                    later
                      in 3 m 19 s, 2026-01-01T00:04:59.750Z: end of freshness
                        now                 Would be validated with the origin: the stored response has just become stale (max-age=300).
                        origin unreachable  Would fail with 504: 'must-revalidate' forbids use without validation.
                        origin returns 503  Would return the origin's 503: 'must-revalidate' forbids use without validation.
                        mode 'offline'      Would fail with 504: 'must-revalidate' forbids use without validation.

                    """
            )
        }
    }

    @Test(arguments: [
        (
            "ignore: {directives: [must-revalidate]}",
            "Would be validated with the origin: the stored response has been stale for 5 m (max-age=300), and its staleness exceeds 'stale.unreachable' (rule 'feed', line 7)."
        ),
        (
            "bypass: false",
            "Would be validated with the origin: the stored response has been stale for 5 m (max-age=300), and 'must-revalidate' forbids use without validation."
        ),
        (
            "freshness: {lifetime: 1 m}",
            "Would be validated with the origin: the stored response has been stale for 9 m (freshness.lifetime 1 m by rule 'feed', line 6), and 'must-revalidate' forbids use without validation."
        ),
    ])
    func verdictNamesReasonAgainstStaleUse(setting: String, verdict: String) async throws {
        try await withStore { store, folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            let yaml = """
                version: 1
                mode: preferStored
                rules:
                  - name: feed
                    match: {url: "https://api.example.com/**"}
                    \(setting)
                    stale: {unreachable: 1 m, on-error: 1 h}

                """
            try Data(yaml.utf8).write(to: file)
            let outcome = try await Self.holdfast.run(
                "explain",
                Self.url,
                "--store",
                store,
                "--config",
                file.path,
                "--at",
                "2026-01-01T00:10:00Z"
            )
            #expect(outcome.status == 0 && outcome.error.isEmpty)
            #expect(outcome.text.split(separator: "\n").first.map(String.init) == verdict)
            if setting.contains("directives") {
                #expect(outcome.text.contains("503, as 'stale.on-error' (rule 'feed', line 7) allows."))
                #expect(outcome.text.contains(": end of stale.on-error\n"))
                #expect(outcome.text.contains("its staleness exceeds 'stale.on-error' (rule 'feed', line 7)."))
            }
        }
    }

    @Test func timeBeforeTheResponseArrivedHasNoResponse() async throws {
        try await withStore { store, _ in
            for (time, words) in [
                ("2025-12-31T22:30:00Z", "yet: the stored response arrived 1 h 30 m later."),
                ("2026-01-01T00:00:00Z", "from the store"),
            ] {
                let outcome = try await Self.holdfast.run("explain", Self.url, "--store", store, "--at", time)
                #expect(outcome.status == 0 && outcome.lines.first?.contains(words) == true, "\(outcome)")
                #expect(!outcome.text.contains("106751991167 d"), "\(outcome)")
            }
        }
    }

    @Test func acceptsNegativeTime() async throws {
        try await withStore { store, _ in
            let outcome = try await Self.holdfast.run("explain", Self.url, "--store", store, "--at", "-1d")
            #expect(outcome.status == 0 && outcome.error.isEmpty)
        }
    }

    @Test func contentIsPartOfKeyIfARuleSaysSo() async throws {
        try await withStore { store, folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            let yaml = """
                version: 1
                rules:
                  - name: graphql
                    match: {url: "https://api.example.com/graphql", method: POST}
                    store: {methods: [POST], content: graphql}
                    freshness: {lifetime: 1 m}

                """
            try Data(yaml.utf8).write(to: file)
            let content = folder.appendingPathComponent("query.json")
            try Data(#"{"query":"{ feed { id } }"}"#.utf8).write(to: content)
            let arguments = [
                "explain", "https://api.example.com/graphql", "--store", store, "--config", file.path, "--method",
                "POST",
                "--header", "Content-Type: application/json",
            ]
            let without = try await Self.holdfast.run(arguments: arguments)
            #expect(without.text.contains("rules out a stored response"))
            let with = try await Self.holdfast.run(arguments: arguments + ["--content", content.path])
            #expect(with.text.hasPrefix("Would be forwarded to the origin: nothing is stored for this target."))
            #expect(with.text.contains("content with SHA-256"))
            let missing = try await Self.holdfast.run(arguments: arguments + ["--content", content.path + "x"])
            #expect(missing.status == 1)
        }
    }

    @Test func jsonDecodesToExplanation() async throws {
        try await withStore { store, _ in
            let outcome = try await Self.holdfast.run(
                "explain",
                Self.url,
                "--store",
                store,
                "--at",
                "2026-01-01T01:00:00Z",
                "--offline",
                "--format",
                "json"
            )
            let explanation = try JSONDecoder().decode(Explanation.self, from: outcome.output)
            #expect(outcome.status == 0 && explanation.mode == .offline && explanation.cache == "private")
            #expect(explanation.now.answer == .refused && explanation.now.status == 504)
            #expect(explanation.now.forbiddenBy == "must-revalidate" && explanation.key?.shortID?.count == 16)
            #expect(explanation.freshness?.currentAge == 3_600_250)
        }
    }

    @Test func appliesFileAndNamesRulesWithLines() async throws {
        try await withStore { store, folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data(
                """
                version: 1
                store: {path: a.store}
                routes:
                  - {name: api, host: api.local, path: /v1, origin: "https://api.example.com"}
                rules:
                  - name: feed
                    match: {url: "https://api.example.com/**"}
                    freshness: {lifetime: 2 h}
                    ignore: {parameters: [session]}
                """.utf8
            ).write(to: file)
            let outcome = try await Self.holdfast.run(
                "explain",
                "http://api.local/v1/feed?page=2&session=hunter2",
                "--config",
                file.path,
                "--at",
                "2026-01-01T01:00:00Z"
            )
            #expect(outcome.status == 0, "\(outcome.error)")
            #expect(outcome.lines.first?.hasSuffix("(freshness.lifetime 2 h by rule 'feed', line 8).") == true)
            #expect(
                outcome.text.contains("cache     shared")
                    && outcome.text.contains("route 'api' forwards it to 'api.example.com'")
            )
            #expect(outcome.text.contains("'session' is sent, but is not in the key (rule 'feed', line 9)"))
            #expect(!outcome.text.contains("hunter2"))
            let byOrigin = try await Self.holdfast.run(
                "explain",
                Self.url,
                "--config",
                file.path,
                "--at",
                "2026-01-01T01:00:00Z"
            )
            #expect(byOrigin.lines.first == outcome.lines.first && byOrigin.text.contains("an origin URL"))
        }
    }

    @Test(arguments: [
        ("http://api.local/old?token=hunter2", [], "Would get 301 to 'https://www.api.local/old?token=REDACTED'"),
        ("http://api.local/livez", [], "Would get the gateway's health ('health.live')."),
        ("http://unknown.local/v1/feed", [], "Would be rejected with 421 (unknown-host) by 'routes'"),
        ("http://api.local/v2", [], "Would be rejected with 404 (no-route) by 'routes'"),
        (
            "http://api.local/v1/feed", ["--client", "192.0.2.7"],
            "Would be rejected with 403 (client-not-allowed) by 'clients.deny' of route 'api'"
        ),
        ("http://api.local/v1/feed", ["--client", "198.51.100.1"], "Would be "),
        ("http://api.local/v1/feed", [], "Would be "),
        ("http://api.local/v1/feed", ["--method", "PURGE"], "Would be rejected with 405 (method-not-allowed)"),
        ("https://api.example.com/feed", ["--method", "purge"], "Would be rejected with 405 (method-not-allowed)"),
    ])
    func responseOfTheGatewayItselfComesFirst(url: String, options: [String], words: String) async throws {
        try await withStore { store, folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data(
                """
                version: 1
                store: {path: a.store}
                health: {live: /livez}
                limits: {requests: {rate: 50/s}}
                routes:
                  - {name: old, host: api.local, path: /old, respond: {status: 301, location: "https://www.api.local{path}{query}"}}
                  - {name: api, host: api.local, path: /v1, origin: "https://api.example.com", clients: {deny: [192.0.2.0/24]}}
                """.utf8
            ).write(to: file)
            let outcome = try await Self.holdfast.run(arguments: ["explain", url, "--config", file.path] + options)
            let first = outcome.lines.first ?? ""
            #expect(outcome.status == 0 && first.hasPrefix(words), "\(outcome)")
            let isRejected = first.contains("(client-not-allowed)")
            #expect(first.contains("stored") == (words == "Would be "), "\(outcome)")
            // Nothing is forecast for a request that never reaches the cache.
            if words != "Would be " { #expect(outcome.lines.count { $0.contains("Would ") } == 1, "\(outcome)") }
            let isOpen = words == "Would be " && options.isEmpty
            #expect(outcome.text.contains("some clients get 403") == isOpen, "\(outcome)")
            let isOrigins = url.hasPrefix("https:")
            if !isRejected, !isOrigins {
                #expect(outcome.text.contains("50/s gets 429 ('limits.requests')"), "\(outcome)")
            }
            let arguments = ["explain", url, "--config", file.path, "--format", "json"] + options
            let json = try await Self.holdfast.run(arguments: arguments).objects().first
            let answer = json?["answer"] as? [String: Any]
            #expect((answer == nil) == (words == "Would be ") && json?["now"] != nil)
            #expect(answer == nil || first == answer?["summary"] as? String)
        }
    }

    @Test func clientNeedsRoutesAndAnAddress() async throws {
        try await withStore { store, _ in
            let wrong = try await Self.holdfast.run("explain", Self.url, "--store", store, "--client", "me")
            #expect(wrong.status == 64 && wrong.error.contains("not 'me'"), "\(wrong)")
            let alone = try await Self.holdfast.run("explain", Self.url, "--store", store, "--client", "192.0.2.7")
            #expect(alone.status == 1 && alone.error.contains("needs a file with routes"), "\(alone)")
        }
    }

    @Test(arguments: ["text", "json"])
    func hidesSecrets(format: String) async throws {
        try await withStore { store, _ in
            let outcome = try await Self.holdfast.run(
                "explain",
                "https://api.example.com/feed?page=2&token=hunter2",
                "--store",
                store,
                "--format",
                format,
                "--header",
                "Authorization: Bearer hunter2",
                "--header",
                "Cookie: sid=hunter2"
            )
            #expect(outcome.status == 0 && outcome.text.contains("nothing is stored for this target"))
            #expect(outcome.text.contains("REDACTED") && !outcome.text.contains("hunter2"))
        }
    }

    @Test func createsAndChangesNoFiles() async throws {
        try await withStore { store, folder in
            let before = try FileManager.default.subpathsOfDirectory(atPath: store).sorted()
            let writer = try await CacheManager.open(at: store)
            let beside = try await Self.holdfast.run("explain", Self.url, "--store", store)
            #expect(beside.status == 0)
            try await writer.close()
            #expect(Set(before).isSubset(of: try FileManager.default.subpathsOfDirectory(atPath: store)))
            let missing = folder.appendingPathComponent("none.store").path
            let none = try await Self.holdfast.run("explain", Self.url, "--store", missing)
            #expect(none.status == 1 && none.output.isEmpty && none.error.contains(missing))
            #expect(!FileManager.default.fileExists(atPath: missing))
            let file = try await Self.holdfast.run("explain", Self.url, "--config", missing)
            #expect(file.status == 1 && file.output.isEmpty && file.error.contains(missing))
        }
    }

    @Test(arguments: [
        ["explain"], ["explain", "nonsense", "--store", "x"], ["explain", "http://a.example/"],
        ["explain", "http://a.example/", "--store", "x", "--at", "soon"],
        ["explain", "http://a.example/", "--store", "x", "--at", "+5"],
        ["explain", "http://a.example/", "--store", "x", "--at", "2026-02-30T00:00:00Z"],
        ["explain", "http://a.example/", "--store", "x", "--method", "no token"],
        ["explain", "http://a.example/", "--store", "x", "--header", "no colon"],
        ["explain", "http://a.example/", "--store", "x", "--format", "xml"],
        ["explain", "http://a.example/", "--store", "x", "--shared", "--private"],
    ])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Self.holdfast.run(arguments: arguments)
        #expect(outcome.status == 64 && outcome.output.isEmpty && !outcome.error.isEmpty)
    }

    @Test func helpExplainsEveryOption() async throws {
        let outcome = try await Self.holdfast.run("explain", "--help")
        for text in [
            "--store", "--config", "--at", "--offline", "--shared", "--private", "--method", "--header", "--format",
            "--principal", "exit status", "default",
        ] {
            #expect(outcome.text.contains(text), "\(text)")
        }
    }
}
