import Foundation
import SampleOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ConfigurationFileTests {
    private static let holdfast = Tool("holdfast")

    /// A file in a new folder.
    private func withFile(_ text: String, _ body: (_ file: String, _ folder: URL) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data(text.utf8).write(to: file)
            try await body(file.path, folder)
        }
    }

    /// A rule that makes responses without a stated lifetime fresh for five minutes.
    private static let freshRespond = """
        rules:
          - name: respond
            match: {url: "/respond"}
            freshness: {lifetime: 5 m}

        """

    private func base(_ origin: RunningOrigin) -> String { String(origin.url("/").dropLast()) }

    // MARK: serve

    @Test func servesRoutesAndRulesOfFile() async throws {
        try await SampleOrigin.withOrigin { one in
            try await SampleOrigin.withOrigin { two in
                let text = """
                    version: 1
                    store: {path: a.store, budget: 64 MiB, memory: 1 MiB}
                    limits: {request-head: 8 KiB}
                    timeouts: {hard: 20 s}
                    routes:
                      - {name: one, host: one.test, path: /v1, origin: "\(base(one))"}
                      - {name: two, host: two.test, origin: "\(base(two))"}
                    \(Self.freshRespond)
                    """
                try await withFile(text) { file, folder in
                    let ending = try await ServerProcess.with(["--config", file]) { port in
                        let path = "/v1/respond?body=one"
                        let first = try await ServerProcess.get(path, at: port, host: "one.test")
                        #expect(first.hasPrefix("HTTP/1.1 200 ") && first.hasSuffix("one"))
                        #expect(first.contains("Cache-Status: holdfast; fwd=uri-miss; stored\r\n"))
                        let second = try await ServerProcess.get(path, at: port, host: "one.test")
                        #expect(second.hasSuffix("one") && second.contains("Cache-Status: holdfast; hit; ttl="))
                        #expect(one.requestCount == 1 && two.requestCount == 0)
                        let other = try await ServerProcess.get("/respond?body=two", at: port, host: "TWO.test:80")
                        #expect(other.hasSuffix("two") && two.requestCount == 1)
                        let lost = try await ServerProcess.get("/v1/respond", at: port, host: "three.test")
                        #expect(lost.hasPrefix("HTTP/1.1 421 ") && !lost.contains("three.test"))
                        let large = "X-Large: \(String(repeating: "a", count: 9 << 10))\r\n"
                        let refused = try await ServerProcess.get(path, at: port, host: "one.test", large)
                        #expect(refused.hasPrefix("HTTP/1.1 431 "))
                    }
                    #expect(ending.status == 0 && !ending.wasKilled)
                    // The store is beside the file, regardless of the working directory.
                    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.store").path))
                }
            }
        }
    }

    @Test func storesGraphQLQueriesIfARuleAllows() async throws {
        try await SampleOrigin.withOrigin { origin in
            let text = """
                version: 1
                store: {path: a.store}
                rules:
                  - match: {url: "/graphql"}
                    freshness: {lifetime: 5 m}
                    store: {methods: [GET, POST], content: graphql}
                """
            try await withFile(text) { file, _ in
                _ = try await ServerProcess.with(["--config", file, "--origin", base(origin)]) { port in
                    for query in [
                        #"{"query":"{ getMomentsDetailsByUserID(userID: \"harbour\", page: 1) { moments { id } } }"}"#,
                        #"{"query":"mutation { likeMoment(momentID: \"harbour-1\") { id } }"}"#,
                    ] {
                        let before = origin.requestCount
                        var responses: [String] = []
                        for _ in 0..<2 {
                            responses.append(
                                try await ServerProcess.send(
                                    "POST /graphql HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"
                                        + "Content-Length: \(query.utf8.count)\r\nConnection: close\r\n\r\n\(query)",
                                    to: port
                                )
                            )
                        }
                        #expect(responses[0].hasPrefix("HTTP/1.1 200 "))
                        let isQuery = query.hasPrefix(#"{"query":"{"#)
                        #expect(responses[1].contains("; hit;") == isQuery, "\(query)")
                        #expect(origin.requestCount == before + (isQuery ? 1 : 2))
                    }
                }
            }
        }
    }

    @Test func commandLineOverridesFile() async throws {
        try await SampleOrigin.withOrigin { origin in
            let text = """
                version: 1
                listen: 192.0.2.1:9
                mode: automatic
                store: {path: unused.store}
                routes: [{host: nobody.test, origin: "http://192.0.2.1"}]
                """
            try await withFile(text) { file, folder in
                let store = folder.appendingPathComponent("named.store").path
                let named = ["--origin", base(origin), "--store", store]
                _ = try await ServerProcess.with(["--config", file] + named) { port in
                    let response = try await ServerProcess.get("/counter", at: port)
                    #expect(response.hasPrefix("HTTP/1.1 200 "))
                }
                _ = try await ServerProcess.with(["--config", file, "--mode", "offline"] + named) { port in
                    let response = try await ServerProcess.get("/greeting", at: port)
                    #expect(response.hasPrefix("HTTP/1.1 504 "))
                }
                #expect(origin.requestCount == 1)
                #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("unused.store").path))
            }
        }
    }

    @Test(arguments: [
        ("version: 1\nstore: {path: a.store}\n", ["no routes", "--origin"]),
        ("version: 1\nroutes: [{origin: \"http://127.0.0.1:1\"}]\n", ["no store", "--store"]),
        (
            "version: 1\nstore: {path: a.store}\nroutes:\n  - {name: x, origin: \"ftp://a\"}\n  - {path: nope, origin: \"http://a\"}\n",
            ["holdfast.yaml:4: route 'x': origin", "holdfast.yaml:5: route 2: path"]
        ),
        (
            "version: 1\nrulez: []\nstore: {path: a.store, budget: 10}\n",
            ["holdfast.yaml:2: ", "holdfast.yaml:3: store.budget"]
        ),
        ("version: 1\n  nonsense: [\n", ["holdfast.yaml:"]),
    ])
    func invalidFileGivesOneLinePerFindingAndStatus1(text: String, findings: [String]) async throws {
        try await withFile(text) { file, folder in
            for arguments in [["serve", "--listen", "127.0.0.1:0"], ["check"]] {
                let isOfServe = findings[0].hasPrefix("no ")
                if isOfServe, arguments[0] == "check" { continue }
                let outcome = try await Self.holdfast.run(arguments: arguments + ["--config", file])
                #expect(outcome.status == 1 && outcome.output.isEmpty, "\(arguments)")
                for finding in findings { #expect(outcome.error.contains(finding), "\(outcome.error)") }
                #expect(!outcome.error.contains("--help"))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["holdfast.yaml"])
        }
    }

    @Test func missingFileIsNamed() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("none.yaml").path
            for arguments in [["serve"], ["check"], ["get", "http://127.0.0.1:1/"]] {
                let outcome = try await Self.holdfast.run(arguments: arguments + ["--config", file])
                #expect(outcome.status == 1 && outcome.output.isEmpty)
                #expect(outcome.error.contains(file))
            }
        }
    }

    // MARK: get

    @Test func getAppliesRulesOfFile() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await withFile("version: 1\nstore: {path: a.store}\n" + Self.freshRespond) { file, folder in
                let url = origin.url("/respond?body=hello")
                for source in ["network", "store"] {
                    let outcome = try await Self.holdfast.run("get", url, "--config", file)
                    #expect(outcome.status == 0 && outcome.text == "hello", "\(outcome.error)")
                    #expect(outcome.error.contains("source=\(source) "))
                }
                #expect(origin.requestCount == 1)
                let other = folder.appendingPathComponent("other.store").path
                let elsewhere = try await Self.holdfast.run("get", url, "--config", file, "--store", other)
                #expect(elsewhere.status == 0 && origin.requestCount == 2)
                let offline = try await Self.holdfast.run("get", url, "--config", file, "--offline")
                #expect(offline.text == "hello" && origin.requestCount == 2)
            }
            try await withFile("version: 1\n") { file, _ in
                let outcome = try await Self.holdfast.run("get", origin.url("/counter"), "--config", file)
                #expect(outcome.status == 1 && outcome.error.contains("--store"))
            }
        }
    }

    // MARK: check

    @Test func checkShowsSettingsAndHidesSecrets() async throws {
        let text = """
            version: 1
            mode: preferStored
            store: {path: a.store}
            routes: [{name: api, host: api.test, origin: "https://api.example.com/v1"}]
            rules:
              - name: keyed
                match: {url: "https://api.example.com/v1/keyed/**"}
                to-origin: {set: {X-Api-Key: {file: key.txt}}}
                stale: {ignore: [must-revalidate]}
            """
        try await withFile(text) { file, folder in
            let key = folder.appendingPathComponent("key.txt")
            try Data("hunter2\n".utf8).write(to: key)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
            let shown = try await Self.holdfast.run("check", "--config", file)
            #expect(shown.status == 0)
            // The rule changes how requests with credentials are served.
            #expect(shown.error.split(separator: "\n").count == 1 && shown.error.contains("stale.ignore"))
            for text in [
                "preferStored", "https://api.example.com/v1", "keyed", "stale.ignore",
                "api: stale responses with must-revalidate, proxy-revalidate, no-cache or s-maxage get 504; "
                    + "rule 'keyed' overrides must-revalidate for matching requests",
            ] {
                #expect(shown.text.contains(text), "\(text): \(shown.text)")
            }
            let json = try await Self.holdfast.run("check", "--config", file, "--format", "json")
            let object = try #require(json.objects().first)
            #expect(json.status == 0 && json.lines.count == 1 && object["valid"] as? Bool == true)
            #expect(object["settings"] != nil && object["offline"] != nil)
            #expect(!(shown.text + json.text).contains("hunter2"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        }
    }

    @Test func checkNamesDirectivesThatNoRuleLifts() async throws {
        func offline(_ rules: String) async throws -> String {
            var line = ""
            let text = """
                version: 1
                routes:
                  - {name: other, host: other.local, origin: "https://other.example"}
                  - {name: api, origin: "https://api.example.com/v1"}

                """ + rules
            try await withFile(text) { file, _ in
                let outcome = try await Self.holdfast.run("check", "--config", file)
                #expect(outcome.status == 0, "\(outcome.error)")
                line = outcome.lines.first { $0.hasPrefix("  api: ") } ?? outcome.text
            }
            return line
        }
        let all = "[must-revalidate, proxy-revalidate, no-cache, s-maxage]"
        let everything = try await offline("rules: [{stale: {ignore: \(all)}}]\n")
        #expect(everything == "  api: rules override every directive that forbids stale use")
        let elsewhere = try await offline(
            "rules: [{match: {url: \"https://other.example/**\"}, stale: {ignore: \(all)}}]\n"
        )
        #expect(
            elsewhere
                == "  api: stale responses with must-revalidate, proxy-revalidate, no-cache or s-maxage get 504"
        )
        let route = try await offline(
            "rules: [{match: {url: \"https://api.example.com/v1/**\"}, stale: {ignore: [no-cache]}, ignore: {directives: [s-maxage]}}]\n"
        )
        #expect(route == "  api: stale responses with must-revalidate or proxy-revalidate get 504")
    }

    @Test func checkNamesEachSchemeOfForwardProxyOnce() async throws {
        let text = "version: 1\nforward-proxy: {hosts: [deb.example]}\n"
        try await withFile(text) { file, _ in
            let outcome = try await Self.holdfast.run("check", "--config", file)
            let lines = outcome.lines.filter { $0.hasPrefix("  forward-proxy, ") }
            #expect(outcome.status == 0 && lines.count == 2 && Set(lines).count == 2, "\(outcome.text)")
            let json = try await Self.holdfast.run("check", "--format", "json", "--config", file)
            #expect(json.text.contains("https://*") && !json.text.contains(".invalid"))
        }
    }

    @Test func checkCountsStoredResponses() async throws {
        try await SampleOrigin.withOrigin { origin in
            let text = """
                version: 1
                store: {path: a.store}
                routes: [{name: api, origin: "\(base(origin))"}]
                rules:
                  - match: {url: "/must-revalidate"}
                    stale: {ignore: [must-revalidate]}
                """
            try await withFile(text) { file, folder in
                let store = folder.appendingPathComponent("a.store").path
                _ = try await ServerProcess.with(["--config", file]) { port in
                    for path in [
                        "/counter", "/must-revalidate", "/proxy-revalidate",
                        "/respond?field=Cache-Control:s-maxage=60&token=hunter2",
                        "/respond?field=Cache-Control:max-age=60,must-revalidate",
                    ] {
                        let response = try await ServerProcess.get(path, at: port)
                        #expect(response.contains("; stored\r\n"), "\(path)")
                    }
                }
                let counted = try await Self.holdfast.run("check", "--config", file, "--store", store)
                #expect(counted.status == 0, "\(counted.error)")
                #expect(
                    counted.text.contains(
                        "api: 3 of 5 stored responses would get 504 offline: 1 for must-revalidate, 1 for proxy-revalidate, 1 for s-maxage"
                    ),
                    "\(counted.text)"
                )
                #expect(counted.text.contains("/proxy-revalidate (proxy-revalidate)"))
                #expect(!counted.text.contains("hunter2"))
                let json = try await Self.holdfast.run(
                    "check",
                    "--config",
                    file,
                    "--store",
                    store,
                    "--format",
                    "json"
                )
                #expect(json.text.contains(#""refused":3"#) && json.text.contains(#""responses":5"#))
                let none = try await Self.holdfast.run("check", "--config", file, "--store", folder.path)
                #expect(none.status == 1 && none.error.contains(folder.path))
            }
        }
    }

    @Test func checkReportsInvalidFileAsJSON() async throws {
        try await withFile("version: 2\n") { file, _ in
            let outcome = try await Self.holdfast.run("check", "--config", file, "--format", "json")
            #expect(outcome.status == 1 && outcome.error.isEmpty)
            let object = try #require(outcome.objects().first)
            #expect(object["valid"] as? Bool == false)
            #expect((object["findings"] as? [[String: Any]])?.count == 1)
        }
    }

    @Test(arguments: [
        ["check"], ["check", "--config"], ["check", "--config", "x", "--format", "xml"], ["check", "x"],
        ["serve", "--config"], ["serve", "--config", "x", "--origin", "nonsense"],
        ["serve", "--config", "x", "--listen", "here"], ["get", "--config", "x"], ["get", "nonsense", "--config", "x"],
    ])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Self.holdfast.run(arguments: arguments)
        #expect(outcome.status == 64 && outcome.output.isEmpty && !outcome.error.isEmpty)
    }

    @Test func helpExplainsConfigurationFile() async throws {
        for (command, texts) in [
            ("serve", ["--config", "takes precedence", "status is 1", "holdfast check"]),
            ("get", ["--config", "status is 1"]),
            ("check", ["--config", "--store", "--format", "64", "must-revalidate"]),
        ] {
            let outcome = try await Self.holdfast.run(command, "--help")
            #expect(outcome.status == 0)
            let text = outcome.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            for wanted in texts { #expect(text.contains(wanted), "\(command): \(wanted)") }
        }
    }
}
