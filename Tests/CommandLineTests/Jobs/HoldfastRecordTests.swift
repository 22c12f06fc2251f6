import Foundation
import HoldfastTesting
import SampleOrigin
import TestSupport
import Testing

/// `holdfast record`, `holdfast replay` and `holdfast jobs`, on built commands.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastRecordTests {
    private let three = JobCommands.fetching("/a", "/b?x=1", "/c")

    // MARK: Recording and replaying

    @Test func recordedJobIsReplayedWithoutItsOrigin() async throws {
        try await JobCommands.with { commands in
            let recorded = try await commands.record("deps", [], three)
            #expect(recorded.status == 0, "\(recorded)")
            #expect(recorded.error.contains("deps: would run: 3 requests"), "\(recorded)")
            #expect(commands.written == "v1v1v1")
            await commands.origin.stop()
            let replayed = try await commands.replay("deps", ["--all"], three)
            #expect(replayed.status == 0 && replayed.error.isEmpty, "\(replayed)")
            #expect(commands.written == "v1v1v1")
            let jobs = try await commands.jobs()
            #expect(jobs.status == 0 && jobs.lines.first == "deps: would run: 3 requests", "\(jobs)")
        }
    }

    @Test func parameterIsEitherSecretOrPublic() async throws {
        try await JobCommands.with { commands in
            let recorded = try await commands.record("deps", ["--secret", "key", "--public", "key"], three)
            #expect(recorded.status == 64 && recorded.error.contains("both name 'key'"), "\(recorded)")
        }
    }

    /// An HTTP/2 client that knows the length ends before the response is stored.
    ///
    /// Mutant: `a-recording-ends-before-its-fetches`.
    @Test func lastResponseIsRecordedHoweverSoonTheClientEnds() async throws {
        try await JobCommands.with { commands in
            commands.origin.behaveNormally()
            let content = String(repeating: "0123456789abcdef", count: 512 << 10)
            commands.origin.force(.respond(fields: [("Cache-Control", "max-age=600")], body: content), times: .max)
            let script = #"curl -sSf --http2-prior-knowledge -o "$OUT" "$HOLDFAST_URL/a""#
            let recorded = try await commands.record("last", [], script)
            #expect(recorded.status == 0 && recorded.error.contains("last: would run"), "\(recorded)")
            let replayed = try await commands.replay("last", [], script)
            #expect(replayed.status == 0 && commands.written == content, "\(replayed.error)")
        }
    }

    @Test func refusedRequestNamesTheNearest() async throws {
        try await JobCommands.with { commands in
            _ = try await commands.record("deps", [], three)
            let requests = commands.origin.requestCount
            let other = try await commands.replay("deps", [], #"curl -s "$HOLDFAST_URL/b?x=2" > /dev/null"#)
            #expect(other.status == 1, "\(other)")
            #expect(other.error.contains("the parameter 'x' is '2', and was '1'"), "\(other)")
            let unknown = try await commands.replay("deps", ["--allow-refused"], #"curl -s "$HOLDFAST_URL/d""#)
            #expect(unknown.status == 0, "\(unknown)")
            #expect(unknown.error.contains("No request with this method and path was recorded."), "\(unknown)")
            // The client of a base URL reads the origin's URL, as on standard error.
            #expect(unknown.text.contains("'\(commands.origin.baseURL)/d'"), "\(unknown)")
            // A client that repeats a request is refused once.
            let twice = try await commands.replay("deps", [], #"for i in 1 2; do curl -s "$HOLDFAST_URL/d"; done"#)
            #expect(twice.status == 1 && !twice.error.contains("more request"), "\(twice)")
            let few = try await commands.replay("deps", ["--all"], JobCommands.fetching("/a"))
            #expect(few.status == 1 && few.error.contains("2 requests of the job were not sent"), "\(few)")
            let one = try await commands.replay("deps", ["--all"], JobCommands.fetching("/a", "/c"))
            #expect(one.status == 1 && one.error.contains("1 request of the job was not sent"), "\(one)")
            let unused = try await commands.replay("deps", [], "true")
            let note = "no request was sent to $HOLDFAST_URL, so nothing was replayed"
            #expect(unused.status == 0 && unused.error.contains(note), "\(unused)")
            #expect(unused.error.contains("'--isolated'") && unused.error.contains("'--all'"), "\(unused)")
            _ = try await commands.record("none", [], "true")
            let none = try await commands.replay("none", ["--all"], "true")
            #expect(none.status == 1 && none.error.contains(note) && !none.error.contains("'--all'"), "\(none)")
            #expect(!unknown.error.contains("mode") && unknown.error.contains("record the job again"), "\(unknown)")
            #expect(commands.origin.requestCount == requests)
            let missing = try await commands.replay("other", [], three)
            #expect(missing.status == 1 && missing.error.contains("has no job 'other'"), "\(missing)")
        }
    }

    /// Mutant: `other-origin-is-no-reason`.
    @Test func originOfTheRecordingIsNamed() async throws {
        try await JobCommands.with { commands in
            _ = try await commands.record("deps", [], three)
            let place = ["--origin", "http://127.0.0.1:1", "--store", commands.store]
            let replayed = try await Tool("holdfast").run(
                arguments: ["replay", "deps"] + place + ["--", "/bin/sh", "-c", three],
                environment: commands.environment
            )
            let origin = commands.origin.baseURL
            let words = "The job was recorded from '\(origin)': use '--origin \(origin)'."
            #expect(replayed.status != 0 && replayed.error.contains("holdfast: \(words)"), "\(replayed)")
            #expect(!replayed.error.contains("--config") && !replayed.error.contains("again"), "\(replayed)")
        }
    }

    /// Mutant: `purge-forgets-the-jobs`.
    @Test func removalNamesTheJobsThatLoseResponses() async throws {
        try await JobCommands.with { commands in
            _ = try await commands.record("deps", [], three)
            func purge(_ options: String...) async throws -> Tool.Outcome {
                try await Tool("holdfast").run(arguments: ["purge", "--all", "--store", commands.store] + options)
            }
            let expired = try await purge()
            #expect(expired.status == 0 && !expired.text.contains("Jobs"), "\(expired)")
            #expect(try await commands.replay("deps", [], three).status == 0)
            let dryRun = try await purge("--remove", "--dry-run")
            #expect(dryRun.text.contains("Jobs that would lose responses: 'deps' (3 recorded responses)."), "\(dryRun)")
            let removed = try await purge("--remove")
            let words = "Jobs that lose responses: 'deps' (3 recorded responses). Record them again with"
            #expect(removed.status == 0 && removed.text.contains(words), "\(removed)")
            let advice = "Otherwise, record it again with '--replace'."
            let replayed = try await commands.replay("deps", [], three)
            #expect(replayed.status != 0 && replayed.error.contains(advice), "\(replayed)")
            let jobs = try await commands.jobs()
            #expect(jobs.status == 1 && jobs.text.contains(advice), "\(jobs)")
        }
    }

    /// A rule of the recording that a replay lacks is the usual reason.
    @Test func replayWithoutTheRulesOfTheRecordingAsksForThem() async throws {
        try await JobCommands.with { commands in
            let file = commands.folder.path + "/rules.yaml"
            let rules = """
                version: 1
                routes: [{origin: "\(commands.origin.baseURL)"}]
                rules: [{match: {url: "/**"}, ignore: {parameters: [t]}}]
                """
            try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
            let place = ["--config", file, "--store", commands.store]
            func run(_ command: String, _ place: [String], _ path: String) async throws -> Tool.Outcome {
                let script = JobCommands.fetching(path)
                return try await Tool("holdfast").run(
                    arguments: [command, "deps"] + place + ["--", "/bin/sh", "-c", script],
                    environment: commands.environment
                )
            }
            let recorded = try await run("record", place, "/a?t=1")
            #expect(recorded.status == 0 && recorded.error.contains("deps: would run: 1 request"), "\(recorded)")
            #expect(try await run("replay", place, "/a?t=2").status == 0)
            let question = "Was it recorded with '--config'? Use the same file."
            let replayed = try await run("replay", commands.place, "/a?t=2")
            #expect(replayed.status != 0 && replayed.error.contains("holdfast: \(question)"), "\(replayed)")
            let jobs = try await commands.jobs()
            #expect(jobs.status == 1 && jobs.text.contains(question), "\(jobs)")
            let judged = try await Tool("holdfast").run(arguments: ["jobs"] + place)
            #expect(judged.status == 0 && !judged.text.contains("--config"), "\(judged)")
            _ = try await commands.record("plain", [], JobCommands.fetching("/b"))
            let script = ["--", "/bin/sh", "-c", JobCommands.fetching("/c")]
            let other = try await Tool("holdfast").run(
                arguments: ["replay", "plain"] + place + script,
                environment: commands.environment
            )
            #expect(other.error.contains("Was it recorded without '--config', or with another file?"), "\(other)")
        }
    }

    @Test func requestThatEndsTheJobIsNamed() async throws {
        try await JobCommands.with { commands in
            let origin = commands.origin
            origin.behaveNormally()
            let fields: [(name: String, value: String)] = [
                ("Cache-Control", "max-age=600, must-revalidate"), ("ETag", "\"1\""),
            ]
            origin.force(.respond(fields: fields, body: "x"), times: .max, path: "/b")
            origin.force(.respond(fields: [("Cache-Control", "no-store")], body: "x"), times: .max, path: "/c")
            origin.force(.respond(fields: [("Cache-Control", "max-age=600")], body: "x"), times: .max, path: "/a")
            let until = try await commands.record("two", [], JobCommands.fetching("/a", "/b"))
            #expect(until.error.contains("two: would run until ") && until.error.contains("/b: 'must-revalidate'"))
            let recordedThree = try await commands.record("three", [], JobCommands.fetching("/a", "/c"))
            let jobs = try await commands.jobs("--format", "json")
            let list = try #require(try JSONSerialization.jsonObject(with: jobs.output) as? [[String: Any]])
            #expect(jobs.status == 1 && list.map { $0["wouldRun"] as? Bool } == [false, true], "\(jobs)")
            #expect((list.first?["refused"] as? [[String: Any]])?.first?["reason"] as? String == "responseNoStore")
            let replayed = try await commands.replay("three", [], JobCommands.fetching("/a", "/c"))
            #expect(replayed.status != 0 && replayed.error.contains("/c: "), "\(replayed)")
            let advice = "its response has 'no-store'; a rule with 'stale: {ignore: [no-store]}' stores it"
            #expect(replayed.error.contains("It was sent in the recording, but \(advice)."), "\(replayed)")
            #expect(recordedThree.error.contains("/c: \(advice)"), "\(recordedThree)")
        }
    }

    @Test func recordingWithoutARequestSaysWhatToUse() async throws {
        try await JobCommands.with { commands in
            let recorded = try await commands.record("none", [], "true")
            let words = "none: would not run: it has no requests, because none was sent to $HOLDFAST_URL or the proxy"
            #expect(recorded.status == 0 && recorded.error.contains(words), "\(recorded)")
        }
    }

    /// Mutant: a damaged job hides the others.
    @Test func damagedJobHidesNoOther() async throws {
        try await JobCommands.with { commands in
            for name in ["a", "b"] { _ = try await commands.record(name, [], three) }
            try Data("{".utf8).write(to: URL(fileURLWithPath: commands.store + "/jobs/a.job"))
            let jobs = try await commands.jobs()
            #expect(jobs.status == 1 && jobs.lines == ["b: would run: 3 requests"], "\(jobs)")
            #expect(jobs.error.contains("'a.job'"), "\(jobs)")
            let damaged = try await commands.jobs("a")
            #expect(damaged.status == 1 && damaged.output.isEmpty && damaged.error.contains("'a.job'"), "\(damaged)")
            #expect(damaged.error.contains("'--remove'") && damaged.error.contains("'--replace'"), "\(damaged)")
            #expect(try await commands.jobs("a", "--remove").status == 0)
            #expect(try await commands.jobs().status == 0)
        }
    }

    @Test func postIsRecordedByItsContent() async throws {
        try await JobCommands.with { commands in
            func post(_ text: String) -> String { #"curl -sSf -d '\#(text)' "$HOLDFAST_URL/ask" >> "$OUT""# }
            let counted = try await commands.record("none", [], post("one"))
            #expect(counted.error.contains("not recorded: 1 POST request; '--post' records them"), "\(counted)")
            let mixed = try await commands.record("mixed", [], JobCommands.fetching("/a") + "; " + post("one"))
            #expect(mixed.status == 0 && mixed.error.contains("mixed: would not run: requests were not"), "\(mixed)")
            let state = try await commands.record("state", [], JobCommands.fetching("/a", "/b?state=open"))
            #expect(state.error.contains("state: would not run: requests were not recorded"), "\(state)")
            #expect(state.error.contains("('state'): use '--public NAME'"), "\(state)")
            let named = try await commands.record(
                "named",
                ["--public", "state"],
                JobCommands.fetching("/b?state=open")
            )
            #expect(named.error.contains("named: would run: 1 request"), "\(named)")
            let recorded = try await commands.record("posts", ["--post"], post("one"))
            #expect(recorded.status == 0 && recorded.error.contains("posts: would run: 1 request"), "\(recorded)")
            let requests = commands.origin.requestCount
            let replayed = try await commands.replay("posts", [], post("one"))
            #expect(replayed.status == 0 && commands.written == "v1", "\(replayed)")
            let changed = try await commands.replay("posts", [], post("two"))
            #expect(changed.status != 0 && changed.error.contains("the content differs"), "\(changed)")
            #expect(commands.origin.requestCount == requests)
        }
    }

    /// All requests to an API may have one URL.
    @Test func refusedPostIsNamedByItsContent() async throws {
        let digest =
            "7692c3ad3540bb803c020b3aee66cd88"
            + "87123234ea0c6e7143c0add73ff431ed"
        try await JobCommands.with { commands in
            let origin = commands.origin
            origin.behaveNormally()
            origin.force(.respond(fields: [("Cache-Control", "no-store")], body: "x"), times: .max, path: "/ask")
            let post = #"curl -sSf -d one "$HOLDFAST_URL/ask" >> "$OUT""#
            let recorded = try await commands.record("posts", ["--post"], post)
            #expect(recorded.error.contains("/ask (content sha256:\(digest.prefix(12))): "), "\(recorded)")
            let jobs = try await commands.jobs("--format", "json")
            let list = try #require(try JSONSerialization.jsonObject(with: jobs.output) as? [[String: Any]])
            let refused = list.first?["refused"] as? [[String: Any]]
            #expect(refused?.map { $0["content"] as? String } == ["sha256:\(digest)"], "\(jobs)")
        }
    }

    // MARK: Names

    @Test func nameThatExistsIsReplacedOnlyBySuccess() async throws {
        try await JobCommands.with { commands in
            _ = try await commands.record("deps", [], three)
            commands.origin.respond("v2")
            let again = try await commands.record("deps", [], three)
            #expect(again.status == 1 && again.error.contains("'--replace'") && commands.written.isEmpty, "\(again)")
            let failed = try await commands.record("deps", ["--replace"], three + "; exit 7")
            #expect(failed.status == 7 && failed.error.contains("exited with status 7"), "\(failed)")
            #expect(try await commands.replay("deps", [], three).status == 0)
            #expect(commands.written == "v1v1v1")
            #expect(try await commands.record("deps", ["--replace"], three).status == 0)
            #expect(try await commands.replay("deps", [], three).status == 0)
            #expect(commands.written == "v2v2v2")
            #expect(try await commands.jobs("deps", "--remove").status == 0)
            #expect(try await commands.jobs().text.contains("has no jobs"))
        }
    }

    @Test(arguments: ["record", "replay", "jobs"]) func fileAndOriginExcludeEachOther(_ command: String) async throws {
        let command = [command, "a", "--origin", "http://a.example", "--config", "a.yaml"]
        let words = command[0] == "jobs" ? command : command + ["--", "true"]
        let outcome = try await Tool("holdfast").run(arguments: words)
        #expect(outcome.status == 64 && outcome.error.contains("'--config' or '--origin', not both"), "\(outcome)")
    }

    @Test func timeWithoutAGatewayIsSaidToHaveNoEffect() async throws {
        try await JobCommands.with { commands in
            let recorded = try await commands.record("a", ["--for", "1m"], JobCommands.fetching("/a"))
            #expect(recorded.status == 0 && recorded.error.contains("'--for' has no effect"), "\(recorded)")
        }
    }

    /// A list in the help that is not complete is worse than none.
    @Test(arguments: ["record", "jobs"]) func helpListsTheKeysOfTheObject(_ command: String) async throws {
        try await JobCommands.with { commands in
            _ = try await commands.record("a", [], JobCommands.fetching("/a") + "; curl -sS -X PUT $HOLDFAST_URL/b")
            let jobs = try await commands.jobs("--format", "json")
            let list = try #require(try JSONSerialization.jsonObject(with: jobs.output) as? [[String: Any]])
            let help = try await Tool("holdfast").run(command, "--help")
            let keys = try #require(list.first).keys
            #expect(keys.count >= 11)
            let words = Set(help.text.split { !$0.isLetter }.map(String.init))
            for key in keys { #expect(words.contains(key), "\(key)") }
        }
    }

    @Test(arguments: ["", "../x", "a b", ".x"]) func invalidNameIsRejected(_ name: String) async throws {
        let outcome = try await Tool("holdfast").run("record", name, "--origin", "http://a.example", "--", "true")
        #expect(outcome.status == 64 && outcome.error.contains("is not a valid job name"), "\(outcome)")
    }

    // MARK: The command

    @Test(arguments: [("exit 3", 3), ("kill -9 $$", 137), ("kill $$", 143), ("exit 0", 0)] as [(String, Int32)])
    func exitStatusIsThatOfTheCommand(_ script: String, _ status: Int32) async throws {
        try await JobCommands.with { commands in
            #expect(try await commands.record("a", [], script).status == status)
            let missing = try await Tool("holdfast").run(
                arguments: ["record", "b"] + commands.place + ["--", "/no/such/program"]
            )
            #expect(missing.status == 1 && missing.error.contains("'/no/such/program' cannot be started"))
        }
    }

    @Test func signalsReachTheCommandAndNothingIsLeftBehind() async throws {
        try await JobCommands.with { commands in
            let (ready, left) = (commands.folder.path + "/ready", commands.folder.path + "/left")
            let script = """
                trap 'exit 5' TERM
                (trap '' TERM; exec sleep 600) & echo $! > \(left)
                echo > \(ready)
                while :; do sleep 0.02; done
                """
            let process = try ChildProcess(
                Tool("holdfast").url,
                ["record", "a"] + commands.place + ["--", "/bin/sh", "-c", script],
                output: 1,
                error: 2
            )
            let ending = try await process.end {
                while !FileManager.default.fileExists(atPath: ready) {
                    try await Task.sleep(for: .milliseconds(10))  // lets time pass
                }
                kill(process.identifier, SIGTERM)
            }
            #expect(ending.status == 5 && !ending.wasKilled)
            let number = try String(contentsOfFile: left, encoding: .utf8).trimmingCharacters(in: .newlines)
            // A process that its new parent has not collected yet is a zombie.
            let state = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ") Z"
            #expect(state.contains(") Z"), "\(state)")
        }
    }

    /// Otherwise, requests of a command that survives the gateway would wait forever.
    @Test func commandInheritsNoSocketOfTheGateway() async throws {
        try await JobCommands.with { commands in
            let script = #"for file in /proc/$$/fd/*; do readlink "$file" >> "$OUT"; done; true"#
            let recorded = try await commands.record("a", [], script)
            #expect(recorded.status == 0, "\(recorded)")
            let files = commands.written.split(separator: "\n")
            #expect(!files.isEmpty && !files.contains { $0.contains("socket:") || $0.contains("eventpoll") })
        }
    }

    /// Otherwise, a recorded build creates files of other modes.
    @Test func commandHasTheUmaskAndTheNicenessOfTheCaller() async throws {
        try await JobCommands.with { commands in
            let direct = commands.folder.appendingPathComponent("direct")
            let both = #"umask > "$0"; nice >> "$0""#
            // 12 is neither the umask of this process nor one that the gateway would make of it.
            let caller = #"umask 012; nice -n 3 sh -c "$0" "$1"; shift; exec nice -n 3 "$@""#
            let recorded = try await Tool.run(
                URL(fileURLWithPath: "/bin/sh"),
                ["-c", caller, both, direct.path, try Tool("holdfast").url.path, "record", "modes"] + commands.place
                    + ["--", "/bin/sh", "-c", both, commands.output.path]
            )
            #expect(recorded.status == 0, "\(recorded)")
            #expect(commands.written == (try String(contentsOf: direct, encoding: .utf8)) && !commands.written.isEmpty)
        }
    }

    /// Mutant: a killed recording replaces the job.
    @Test(arguments: 0..<8 as Range<UInt64>) func killedRecordingLeavesTheOldJobOrNone(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        try await JobCommands.with { commands in
            var kept = "v1"
            _ = try await commands.record("deps", [], three)
            for round in 2..<5 {
                commands.origin.respond("v\(round)")
                let process = try ChildProcess(
                    Tool("holdfast").url,
                    ["record", "deps", "--replace"] + commands.place + ["--", "/bin/sh", "-c", three],
                    environment: ["OUT": "/dev/null"],
                    output: 1,
                    error: 2
                )
                let delay = Int.random(in: 0..<300, using: &random)
                let ending = try await process.end {
                    try await Task.sleep(for: .milliseconds(delay))  // lets time pass
                    kill(process.identifier, SIGKILL)
                }
                let replayed = try await commands.replay("deps", ["--all"], three)
                #expect(replayed.status == 0, "seed \(seed), \(delay) ms: \(replayed)")
                let (old, new) = (String(repeating: kept, count: 3), "v\(round)v\(round)v\(round)")
                #expect(ending.wasKilled ? [old, new].contains(commands.written) : commands.written == new)
                kept = String(commands.written.prefix(2))
                let verified = try await Tool.cacheDump.run("verify", commands.store)
                #expect(verified.status == 0, "\(verified)")
            }
        }
    }

    // MARK: Isolation and secrets

    @Test func gatewayOnTheSameStoreServesNothingOfTheJob() async throws {
        try await JobCommands.with { commands in
            _ = try await commands.record("deps", [], three)
            let arguments = commands.place + ["--mode", "offline", "--listen", "127.0.0.1:0"]
            _ = try await RunningServer.with(arguments) { server in
                for path in ["/a", "/b?x=1", "/c"] {
                    let response = try await ServerProcess.get(path, at: server.port, host: "a.test")
                    #expect(response.hasPrefix("HTTP/1.1 504"), "\(response)")
                }
                // A replay reads the store meanwhile.
                #expect(try await commands.replay("deps", [], three).status == 0)
                server.signal(SIGTERM)
            }
        }
    }

    @Test func noCredentialIsKept() async throws {
        let (key, cookie) = ("planted-5ecret-key", "planted-c00kie")
        try await JobCommands.with { commands in
            commands.origin.behaveNormally()
            let fields: [(name: String, value: String)] = [
                ("Cache-Control", "private, max-age=600"), ("Vary", "Authorization, Cookie"),
                ("Set-Cookie", "sid=\(cookie)"),
            ]
            commands.origin.force(.respond(fields: fields, body: "hers"), times: .max)
            func fetch(_ key: String) -> String {
                "curl -sSf -H 'Authorization: Bearer \(key)' -H 'X-Api-Key: \(key)' -b 'sid=\(cookie)' "
                    + #""$HOLDFAST_URL/me?api_key=\#(key)&page=1" >> "$OUT""#
            }
            let recorded = try await commands.record("me", [], fetch(key))
            #expect(recorded.status == 0 && recorded.error.contains("would run"), "\(recorded)")
            #expect(commands.origin.requests.contains { $0.target.contains(key) })
            for secret in [key, cookie] {
                #expect(try !Self.contains(secret, in: commands.store))
                #expect(!recorded.error.contains(secret) && !recorded.text.contains(secret))
            }
            // Without the key, and with another one.
            let plain = try await commands.replay("me", [], JobCommands.fetching("/me?page=1"))
            #expect(plain.status == 0 && commands.written == "hers", "\(plain)")
            #expect(try await commands.replay("me", [], fetch("another-key")).status == 0)
            let second = try await commands.record("two", [], fetch(key) + "; " + fetch("another-key"))
            #expect(second.error.contains("1 request with other credentials at '"), "\(second)")
            #expect(second.error.contains("two: would not run"), "\(second)")
            #expect(!second.error.contains("another-key") && !second.error.contains(key))
        }
    }

    /// An API behind a CDN sets a cookie anew with each response, and the client sends it back.
    @Test(arguments: [("__cf_bm", ""), ("sid", ""), ("sid", "-H 'Authorization: Bearer planted-5ecret-key'")])
    func apiThatSetsCookiesIsRecordedWithoutThem(_ name: String, _ options: String) async throws {
        try await JobCommands.with { commands in
            commands.origin.behaveNormally()
            for number in 1...3 {
                let fields: [(name: String, value: String)] = [
                    ("Cache-Control", "max-age=600"),
                    ("Set-Cookie", "\(name)=planted-c00kie-\(number); Path=/; HttpOnly"),
                ]
                commands.origin.force(.respond(fields: fields, body: "v\(number)"), times: .max, path: "/\(number)")
            }
            let script = #"""
                for n in 1 2 3; do
                    curl -sSf -D "$OUT.heads" -b "$OUT.jar" -c "$OUT.jar" \#(options) "$HOLDFAST_URL/$n" >> "$OUT"
                done
                """#
            let recorded = try await commands.record("api", [], script)
            #expect(recorded.status == 0 && recorded.error.contains("api: would run: 3 requests"), "\(recorded)")
            let said = "recorded without cookies: a replay does not set '\(name)'"
            #expect(recorded.error.contains(said), "\(recorded)")
            let sent = commands.origin.requests.flatMap(\.fields).filter { $0.name.lowercased() == "cookie" }
            #expect(sent.map(\.value) == ["\(name)=planted-c00kie-1", "\(name)=planted-c00kie-2"])
            let jobs = try await commands.jobs()
            #expect(jobs.text.contains(said), "\(jobs)")
            for secret in ["planted-c00kie", "planted-5ecret-key"] {
                #expect(try !Self.contains(secret, in: commands.store))
                #expect(!recorded.error.contains(secret) && !jobs.text.contains(secret))
            }
            await commands.origin.stop()
            try FileManager.default.removeItem(atPath: commands.output.path + ".jar")
            let replayed = try await commands.replay("api", ["--all"], script)
            #expect(replayed.status == 0 && commands.written == "v1v2v3", "\(replayed)")
            let heads = try String(contentsOfFile: commands.output.path + ".heads", encoding: .utf8)
            #expect(!heads.lowercased().contains("set-cookie"))
        }
    }

    /// Whether a file in a folder contains a text.
    private static func contains(_ text: String, in folder: String) throws -> Bool {
        let files = try #require(FileManager.default.enumerator(atPath: folder))
        for case let name as String in files {
            guard let data = FileManager.default.contents(atPath: folder + "/" + name) else { continue }
            if data.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }

    // MARK: Help

    @Test(arguments: ["record", "replay", "jobs"]) func helpShowsExamples(_ command: String) async throws {
        let help = try await Tool("holdfast").run(command, "--help")
        #expect(help.status == 0 && help.text.contains("Examples:") && help.text.contains("holdfast \(command) "))
    }

    @Test func commandIsRequired() async throws {
        for arguments in [["record", "a"], ["replay", "a"]] {
            let outcome = try await Tool("holdfast").run(arguments: arguments + ["--origin", "http://a.example"])
            #expect(outcome.status == 64 && outcome.error.contains("after '--'"), "\(outcome)")
        }
    }
}
