import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Recordings in a running gateway, with the built gateway, the built commands and curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastRecordingsTests {
    private func begin(_ gateway: PurgedGateway, _ json: String) async throws -> PurgedGateway.Reply {
        try await gateway.curl("/v1/recordings", ["--json", json])
    }

    private func url(_ reply: PurgedGateway.Reply) throws -> String {
        try #require(reply.json["url"] as? String, "\(reply)")
    }

    private func recordings(_ folder: PurgedGateway.Folder) async throws -> [[String: Any]] {
        let list = try await folder.curl("/v1/recordings", []).json["recordings"]
        return try #require(list as? [[String: Any]])
    }

    /// Fetches paths at an address at once, and returns the contents.
    private func fetch(_ folder: PurgedGateway.Folder, _ urls: [String]) async throws -> [String] {
        try await withThrowingTaskGroup(of: String.self) { tasks in
            for url in urls { tasks.addTask { try await folder.fetch(url).text } }
            return try await tasks.reduce(into: [String]()) { $0.append($1) }
        }
    }

    private func replay(
        _ name: String,
        _ script: String,
        _ folder: PurgedGateway.Folder,
        _ options: [String] = []
    ) async throws -> Tool.Outcome {
        try await Tool("holdfast").run(
            arguments: ["replay", name] + options + ["--config", folder.file, "--", "/bin/sh", "-c", script],
            environment: ["RUNTIME_DIRECTORY": ""]
        )
    }

    private static let fetchAll = #"for n in 1 2 3; do curl -sSf "$HOLDFAST_URL/$n"; done"#

    // MARK: Recording

    @Test func thirtyClientsRecordAtOnceAndTheGatewayServesNothingOfIt() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let url = try url(try await begin(gateway, #"{"name": "deps"}"#))
            let paths = (0..<30).map { "/\($0 % 3 + 1)" }
            let contents = try await fetch(gateway.folder, paths.map { url + $0 })
            #expect(contents == Array(repeating: "v1", count: 30))
            let requests = origin.requestCount
            #expect(try await recordings(gateway.folder).first?["requests"] as? Int == 3)
            let other = try await gateway.get("/1")
            #expect(other.contains("fwd=uri-miss") && origin.requestCount == requests + 1, "\(other)")
            let ended = try await gateway.curl("/v1/recordings/deps", ["-X", "DELETE"])
            #expect(ended.status == 200 && ended.json["state"] as? String == "kept", "\(ended)")
            let again = try await gateway.curl("/v1/recordings/deps", ["-X", "DELETE"])
            #expect(again.status == 404 && again.text.contains("its job was kept"), "\(again)")
            let replayed = try await replay("deps", Self.fetchAll, gateway.folder, ["--all"])
            #expect(replayed.status == 0 && replayed.text == "v1v1v1", "\(replayed)")
            #expect(try await gateway.run(["jobs"]).text.contains("deps: would run: 3 requests"))
        }
    }

    @Test func fourOfThirtyClientsMayRecord() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let replies = try await withThrowingTaskGroup(of: PurgedGateway.Reply.self) { tasks in
                for number in 0..<30 {
                    tasks.addTask { try await begin(gateway, #"{"name": "job-\#(number)"}"#) }
                }
                return try await tasks.reduce(into: [PurgedGateway.Reply]()) { $0.append($1) }
            }
            let begun = replies.filter { $0.status == 200 }
            let refused = replies.filter { $0.status == 409 && $0.text.contains("too-many-recordings") }
            #expect(begun.count == 4 && refused.count == 26)
            // Each has an identity and responses of its own.
            let urls = try begun.map { try url($0) + "/x" }
            #expect(Set(urls).count == 4)
            #expect(try await fetch(gateway.folder, urls) == ["v1", "v1", "v1", "v1"])
        }
    }

    @Test(arguments: [#""requests": 2"#, #""bytes": 100"#, #""for": "1s", "discardAtEnd": true"#])
    func recordingEndsByItselfWithoutAJob(_ limit: String) async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let url = try url(try await begin(gateway, #"{"name": "deps", \#(limit)}"#))
            for path in ["/1", "/2", "/3"] where !limit.contains("for") {
                _ = try? await gateway.folder.fetch(url + path)
            }
            while try await recordings(gateway.folder).first?["state"] as? String == "recording" {
                try await Task.sleep(for: .milliseconds(20))  // lets time pass
            }
            let ended = try await recordings(gateway.folder).first
            #expect(ended?["state"] as? String == "discarded", "\(String(describing: ended))")
            #expect(limit.contains(ended?["endedBy"] as? String ?? "?") || ended?["endedBy"] as? String == "time")
            #expect(try await gateway.run(["jobs"]).text.contains("has no jobs"))
        }
    }

    /// A killed gateway leaves the old job, and the next one says what became of the recording.
    @Test func killedGatewayLeavesTheOldJobAndTheNextOneSaysSo() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try folder.write(origin)
                let ending = try await PurgedGateway.with(folder, signal: SIGKILL) { gateway in
                    let first = try url(try await begin(gateway, #"{"name": "deps"}"#))
                    _ = try await fetch(folder, ["/1", "/2", "/3"].map { first + $0 })
                    _ = try await gateway.curl("/v1/recordings/deps", ["-X", "DELETE"])
                    origin.respond("v2")
                    let second = try url(try await begin(gateway, #"{"name": "deps", "replace": true}"#))
                    #expect(try await fetch(folder, [second + "/1"]) == ["v2"])
                }
                #expect(ending.wasKilled)
                try await PurgedGateway.with(folder) { gateway in
                    while try await recordings(folder).isEmpty {
                        try await Task.sleep(for: .milliseconds(20))  // lets time pass
                    }
                    let lost = try await recordings(folder).first
                    #expect(lost?["endedBy"] as? String == "killed" && lost?["state"] as? String == "discarded")
                    let said = await gateway.server.log.skippedOrNextLine(containing: "Recording was lost with")
                    #expect(said.contains("an earlier process"), "\(said)")
                    let replayed = try await replay("deps", Self.fetchAll, folder)
                    #expect(replayed.status == 0 && replayed.text == "v1v1v1", "\(replayed)")
                }
                let verified = try await Tool.cacheDump.run("verify", folder.store)
                #expect(verified.status == 0, "\(verified)")
            }
        }
    }

    // MARK: The command

    @Test func commandRecordsInTheRunningGateway() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            func record(_ script: String, _ options: [String] = []) async throws -> Tool.Outcome {
                try await Tool("holdfast").run(
                    arguments: ["record", "deps"] + options
                        + ["--config", gateway.folder.file, "--", "/bin/sh", "-c", script],
                    environment: ["RUNTIME_DIRECTORY": ""]
                )
            }
            let recorded = try await record(Self.fetchAll)
            #expect(recorded.status == 0 && recorded.error.contains("deps: would run: 3 requests"), "\(recorded)")
            let exists = try await record("true")
            #expect(exists.status == 1 && exists.error.contains("'--replace'"), "\(exists)")
            origin.respond("v2")
            let failed = try await record(Self.fetchAll + "; exit 7", ["--replace"])
            #expect(failed.status == 7 && failed.error.contains("exited with status 7"), "\(failed)")
            #expect(try await replay("deps", Self.fetchAll, gateway.folder).text == "v1v1v1")
            let states = try await recordings(gateway.folder).compactMap { $0["state"] as? String }
            #expect(states == ["discarded", "kept"])
            // It has the file of the gateway, and other routes would not count.
            let other = gateway.folder.path + "/other.yaml"
            try FileManager.default.copyItem(atPath: gateway.folder.file, toPath: other)
            for (place, words) in [
                (["--config", other], "'--config' is '\(other)', but the gateway that has the store runs with"),
                (
                    ["--origin", "http://b.example", "--store", gateway.folder.store],
                    "'--origin' is 'http://b.example', but the gateway that has the store has no route there."
                ),
            ] {
                let outcome = try await Tool("holdfast").run(
                    arguments: ["record", "more"] + place + ["--", "true"],
                    environment: ["RUNTIME_DIRECTORY": ""]
                )
                #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
            }
            let own = ["--origin", origin.baseURL, "--store", gateway.folder.store]
            let same = try await Tool("holdfast").run(
                arguments: ["record", "same"] + own + ["--", "/bin/sh", "-c", Self.fetchAll],
                environment: ["RUNTIME_DIRECTORY": ""]
            )
            #expect(same.status == 0, "\(same)")
            let back = try await record("true", ["--for", "-2h", "--replace"])
            #expect(back.status == 64 && back.error.contains("not '-2h'"), "\(back)")
            let long = try await record("true", ["--for", "2d"])
            #expect(long.status == 64 && long.error.contains("'--for'"), "\(long)")
        }
    }

    /// The address of a job has no TLS. Its origins are told what they are told of the gateway's
    /// clients, so one that requires https redirects no request away from the job.
    @Test(arguments: [true, false]) func jobOfAGatewayWithTLSStatesHTTPS(isInGateway: Bool) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let fields: [(name: String, value: String)] = [
                    ("Cache-Control", "max-age=3600"), ("Vary", "X-Forwarded-Proto, Forwarded"),
                ]
                origin.force(.respond(fields: fields, body: "v1"), times: .max)
                try await ListenerTLSTests.make("main", in: folder.path)
                let tls = "{certificates: [{name: main, chain: main.pem, key: main.key}]}"
                func write(_ listeners: String, _ routes: String) throws {
                    let text = """
                        version: 1
                        listen: [\(listeners)]
                        store: {path: s}
                        routes: [\(routes){origin: "\(origin.baseURL)"}]
                        """
                    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                }
                let redirect = #"{match: {scheme: http}, respond: {status: 308, location: "https://a.test{path}"}}, "#
                try write("{address: 127.0.0.1:0, tls: \(tls)}, {unix: h.sock}", redirect)
                func record() async throws {
                    let recorded = try await Tool("holdfast").run(
                        arguments: ["record", "deps", "--config", folder.file, "--", "/bin/sh", "-c", Self.fetchAll],
                        environment: ["RUNTIME_DIRECTORY": ""]
                    )
                    #expect(recorded.status == 0 && recorded.text == "v1v1v1", "\(recorded)")
                    #expect(recorded.error.contains("deps: would run: 3 requests"), "\(recorded)")
                }
                if isInGateway {
                    try await PurgedGateway.with(folder) { _ in try await record() }
                } else {
                    try await record()
                }
                #expect(origin.requests.count == 3)
                for request in origin.requests {
                    #expect(request["X-Forwarded-Proto"] == "https")
                    #expect(request["Forwarded"] == "for=127.0.0.1;proto=https")
                }
                await origin.stop()
                let replayed = try await replay("deps", Self.fetchAll, folder, ["--all"])
                #expect(replayed.status == 0 && replayed.text == "v1v1v1", "\(replayed)")
                // The scheme is part of the job, so other listeners in the file change nothing.
                try write("127.0.0.1:0", "")
                let again = try await replay("deps", Self.fetchAll, folder, ["--all"])
                #expect(again.status == 0 && again.text == "v1v1v1", "\(again)")
            }
        }
    }

    // MARK: The first difference

    /// One word of a prompt is changed: the message and the response name the member, and no value.
    @Test func changedMemberOfJSONIsNamed() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            func ask(_ word: String) -> String {
                let json = #"{"model":"m","messages":[{"role":"user","content":"Say \#(word)"}],"password":"5ecret"}"#
                return #"curl -sS --json '\#(json)' "$HOLDFAST_URL/v1/answers""#
            }
            let url = try url(try await begin(gateway, #"{"name": "tests", "posts": true}"#))
            let script = ask("hello")
            let asked = try await Tool.run(
                URL(fileURLWithPath: "/bin/sh"),
                ["-c", script.replacing("$HOLDFAST_URL", with: url)]
            )
            #expect(asked.text == "v1", "\(asked)")
            _ = try await gateway.curl("/v1/recordings/tests", ["-X", "DELETE"])
            #expect(try await replay("tests", script, gateway.folder).text == "v1")
            let changed = try await replay("tests", ask("goodbye"), gateway.folder)
            let member = "the content's member '/messages/0/content' has another value"
            #expect(changed.status == 1 && changed.error.contains(member), "\(changed)")
            let problem = try #require(try JSONSerialization.jsonObject(with: changed.output) as? [String: Any])
            let nearest = try #require(problem["nearest"] as? [String: Any])
            #expect(nearest["name"] as? String == "/messages/0/content" && nearest["differs"] as? String == "content")
            #expect(nearest["difference"] as? String == member)
            let job = try String(contentsOfFile: gateway.folder.store + "/jobs/tests.job", encoding: .utf8)
            for text in [job, changed.error, changed.text] {
                #expect(!text.contains("hello") && !text.contains("goodbye") && !text.contains("5ecret"))
            }
            #expect(job.contains("/messages/0/content") && !job.contains("password"))
        }
    }
}
