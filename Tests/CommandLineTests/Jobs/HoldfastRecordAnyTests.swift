import Foundation
import TestSupport
import Testing

/// `holdfast record` and `holdfast replay` as the proxy of a command, on built commands.
@Suite(
    .timeLimit(.minutes(20)),
    .enabled(if: Tool.hasCurl && SecureOrigin.canRun, "needs curl, openssl and an address besides loopback")
)
struct HoldfastRecordAnyTests {
    /// Temporary files of the run, and its output.
    private struct Place {
        let folder: URL
        var temporary: String { folder.path + "/tmp" }
        var output: URL { folder.appending(path: "out") }
        var environment: [String: String] {
            [
                "OUT": output.path, "OWN": "\(getuid())", "TMPDIR": temporary, "HOLDFAST_ORIGIN": "",
                "HOLDFAST_CONFIG": "",
            ]
        }

        static func with(_ body: (Place) async throws -> Void) async throws {
            try await TemporaryFolder.with { folder in
                let place = Place(folder: folder)
                try FileManager.default.createDirectory(atPath: place.temporary, withIntermediateDirectories: true)
                try await body(place)
            }
        }

        func run(
            _ command: String,
            _ origin: SecureOrigin,
            options: [String] = [],
            _ script: String
        ) async throws -> Tool.Outcome {
            try? FileManager.default.removeItem(at: output)
            let reach = ["--origin-ca", origin.authority, "--allow-private", "--allow-port", "\(origin.port)"]
            return try await Tool("holdfast").run(
                arguments: [command, "any", "--store", folder.path + "/s"] + reach + options
                    + ["--", "/bin/sh", "-c", script],
                environment: environment
            )
        }

        func jobs(_ options: String...) async throws -> Tool.Outcome {
            try await Tool("holdfast").run(
                arguments: ["jobs", "--store", folder.path + "/s"] + options,
                environment: environment
            )
        }

        var written: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }
    }

    private func fetching(_ origin: SecureOrigin) -> String {
        #"set -e; for path in a b; do curl -sSf "\#(origin.url)/$path" >> "$OUT"; done"#
    }

    @Test func commandIsRecordedAndReplayedWithoutConfiguration() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, stop in
                let recorded = try await place.run("record", origin, fetching(origin))
                #expect(recorded.status == 0 && recorded.error.contains("any: would run: 2 requests"), "\(recorded)")
                #expect(place.written == "ab")
                stop()
                let replayed = try await place.run("replay", origin, options: ["--all"], fetching(origin))
                #expect(replayed.status == 0 && replayed.error.isEmpty, "\(replayed)")
                #expect(place.written == "ab")
                let other = try await place.run("replay", origin, "curl -sS \(origin.url)/c > /dev/null")
                #expect(other.status == 1 && other.error.contains("refused GET \(origin.url)/c"), "\(other)")
            }
        }
    }

    @Test func keysOfTheRunAreInNoFileAndNoVariable() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                let abandoned = place.temporary + "/holdfast-run-abcdef"
                try FileManager.default.createDirectory(atPath: abandoned, withIntermediateDirectories: true)
                try Data().write(to: URL(fileURLWithPath: abandoned + "/lock"))
                let script = #"curl -sSf \#(origin.url)/a > /dev/null; { env; cat "$TMPDIR"/*/*; } > "$OUT""#
                let recorded = try await place.run("record", origin, script)
                #expect(recorded.status == 0, "\(recorded)")
                #expect(place.written.contains("https_proxy=http://holdfast:"))
                #expect(place.written.contains("BEGIN CERTIFICATE") && !place.written.contains("PRIVATE KEY"))
                #expect(!place.written.contains("HOLDFAST_URL="))
                let left = try FileManager.default.contentsOfDirectory(atPath: place.temporary)
                #expect(left.isEmpty, "\(left)")
            }
        }
    }

    /// Swift's report would show registers, and the memory that they point to.
    @Test func crashOfTheRecorderEndsItWithoutAReport() async throws {
        try await Place.with { place in
            let words = ["record", "any", "--store", place.folder.path + "/s", "--", "/bin/sh", "-c"]
            let outcome = try await Tool("holdfast").run(
                arguments: words + ["kill -ABRT $PPID"],
                environment: place.environment
            )
            #expect(outcome.wasKilled && !outcome.error.lowercased().contains("crashed"), "\(outcome)")
        }
    }

    @Test func untrustedOriginFailsWithTheReason() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                let script = "curl -sS -o \"$OUT\" -w '%{http_code}' \(origin.url)/a"
                let arguments = ["record", "any", "--store", place.folder.path + "/s", "--allow-private"]
                let outcome = try await Tool("holdfast").run(
                    arguments: arguments + ["--allow-port", "\(origin.port)", "--", "/bin/sh", "-c", script],
                    environment: place.environment
                )
                #expect(outcome.text == "502", "\(outcome)")
                #expect(place.written.contains("is not signed by a trusted authority"), "\(place.written)")
                let words = "holdfast got no response from '\(origin.url)': The certificate of '"
                #expect(outcome.error.contains(words) && outcome.error.contains("'--origin-ca FILE'"), "\(outcome)")
            }
        }
    }

    /// A command may hide the response that states the reason.
    @Test func reasonOfAFailureIsSaidWithoutAJob() async throws {
        try await Place.with { place in
            let script = "curl -sf http://127.0.0.1/a; curl -sf http://127.0.0.1/b; exit 3"
            let outcome = try await Tool("holdfast").run(
                arguments: ["record", "any", "--store", place.folder.path + "/s", "--", "/bin/sh", "-c", script],
                environment: place.environment
            )
            let words = "holdfast got no response from 'http://127.0.0.1': "
            #expect(outcome.status == 3 && outcome.error.components(separatedBy: words).count == 2, "\(outcome)")
            #expect(outcome.error.contains("is this machine"), "\(outcome)")
        }
    }

    // MARK: Isolated

    @Test(.enabled(if: Isolation.isPossible, "needs network namespaces"))
    func isolatedCommandReachesNothingButTheProxy() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, stop in
                let script = #"""
                    set -e
                    curl -sSf "\#(origin.url)/a" >> "$OUT"
                    # Without the proxy, there is no way to the origin.
                    if curl -sSfk --noproxy '*' --connect-timeout 20 "\#(origin.url)/b"; then exit 9; fi
                    # No descriptor of the recorder, and no password, which no one else could use.
                    if [ -e "/proc/$$/fd/3" ]; then exit 8; fi
                    case $https_proxy in http://127.0.0.1:*) ;; *) exit 7 ;; esac
                    [ "$(id -u)" = "$OWN" ] || exit 6
                    """#
                let recorded = try await place.run("record", origin, options: ["--isolated"], script)
                #expect(recorded.status == 0 && recorded.error.contains("any: would run: 1 request"), "\(recorded)")
                #expect(place.written == "a")
                stop()
                let replayed = try await place.run("replay", origin, options: ["--isolated", "--all"], script)
                #expect(replayed.status == 0, "\(replayed)")
                #expect(place.written == "a")
            }
        }
    }

    @Test(.enabled(if: Isolation.isPossible, "needs network namespaces"))
    func isolatedCommandThatCannotBeStartedIsNamed() async throws {
        try await Place.with { place in
            let arguments = [
                "record", "any", "--store", place.folder.path + "/s", "--isolated", "--", "no-such-program",
            ]
            let outcome = try await Tool("holdfast").run(arguments: arguments, environment: place.environment)
            #expect(
                outcome.status == 127 && outcome.error.contains("'no-such-program' cannot be started"),
                "\(outcome)"
            )
        }
    }

    /// A shell that has the variables is recorded like a command.
    @Test func shellWithThePrintedVariablesIsRecorded() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                let script = #"""
                    program=$0 url=$1
                    shift
                    "$program" record any --print-env "$@" > "$OUT.env" 2> "$OUT.error" &
                    # The sentence follows the variables.
                    until grep -q 'serves a shell' "$OUT.error"; do kill -0 $! || exit 9; sleep 0.05; done
                    . "$OUT.env"
                    curl -sSf "$url/a" > "$OUT"
                    kill -TERM $!
                    wait $!
                    """#
                let store = ["--store", place.folder.path + "/s", "--origin-ca", origin.authority, "--allow-private"]
                let words = ["/bin/sh", "-c", script, try Tool("holdfast").url.path, origin.url] + store
                let outcome = try await Tool.run(
                    URL(fileURLWithPath: "/usr/bin/env"),
                    place.environment.map { "\($0.key)=\($0.value)" } + words + ["--allow-port", "\(origin.port)"]
                )
                let file = URL(fileURLWithPath: place.output.path + ".error")
                let error = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
                #expect(outcome.status == 0 && error.contains("any: would run: 1 request"), "\(outcome) \(error)")
                #expect(place.written == "a")
            }
        }
    }

    @Test(arguments: [
        (["--print-env", "--", "true"], "'--print-env' runs no command"),
        (["--print-env", "--isolated"], "'--isolated'"),
        ([], "Add the command"),
    ])
    func shellAndCommandExcludeEachOther(options: [String], words: String) async throws {
        for command in ["record", "replay"] {
            let outcome = try await Tool("holdfast").run(arguments: [command, "any"] + options)
            #expect(outcome.status == 64 && outcome.error.contains(words), "\(outcome)")
        }
    }

    @Test func optionsOfTheProxyNeedNoOrigin() async throws {
        let options = ["--origin", "http://a.example", "--allow-private", "--store", "s"]
        let outcome = try await Tool("holdfast").run(arguments: ["record", "any"] + options + ["--", "true"])
        #expect(outcome.status == 64 && outcome.error.contains("'--allow-private'"), "\(outcome)")
    }

    @Test(arguments: ["0", "65536"]) func allowedPortHasLimits(_ port: String) async throws {
        for command in ["record", "replay"] {
            let words = [command, "any", "--allow-port", port, "--store", "s", "--", "true"]
            let outcome = try await Tool("holdfast").run(arguments: words)
            let text = "'--allow-port' must be a number from 1 to 65535, not '\(port)'."
            #expect(outcome.status == 64 && outcome.error.contains(text), "\(outcome)")
        }
    }

    /// The home folder of the run has links to the caller's files, which stay when it is removed.
    @Test func homeForChromiumKeepsTheCallersFiles() async throws {
        try await Place.with { place in
            let (own, tools) = (place.folder.path + "/home", place.folder.path + "/tools")
            for folder in [own + "/.config", own + "/.pki", tools] {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            }
            try Data("kept".utf8).write(to: URL(fileURLWithPath: own + "/.config/file"))
            // It stands for the program that writes the database.
            let program = tools + "/certutil"
            try Data("#!/bin/sh\necho \"$1\" >> '\(place.folder.path)/calls'\n".utf8).write(
                to: URL(fileURLWithPath: program)
            )
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            let script = #"cat "$HOME/.config/file" > "$OUT"; test -d "$HOME/.pki/nssdb" && test "$HOME" != "$1""#
            let words = ["record", "any", "--store", place.folder.path + "/s", "--chromium", "--", "/bin/sh", "-c"]
            let outcome = try await Tool("holdfast").run(
                arguments: words + [script, "sh", own],
                environment: place.environment.merging(["HOME": own, "PATH": tools + ":/usr/bin:/bin"]) { $1 }
            )
            #expect(outcome.status == 0 && place.written == "kept", "\(outcome)")
            #expect(try String(contentsOfFile: place.folder.path + "/calls", encoding: .utf8) == "-N\n-A\n")
            #expect(try String(contentsOfFile: own + "/.config/file", encoding: .utf8) == "kept")
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.temporary).isEmpty)
        }
    }

    @Test func databaseForChromiumNeedsAProgram() async throws {
        try await Place.with { place in
            let words = ["record", "any", "--store", place.folder.path + "/s", "--chromium", "--", "/bin/true"]
            let outcome = try await Tool("holdfast").run(
                arguments: words,
                environment: place.environment.merging(["PATH": place.temporary]) { $1 }
            )
            #expect(outcome.status == 1 && outcome.error.contains("'--chromium' needs 'certutil'"), "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.temporary).isEmpty)
        }
    }

    @Test func programThatTrustsNoNewAuthorityIsNamed() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                // It reads the origin's certificate only.
                let script = "curl -sS --cacert \(origin.authority) \(origin.url)/a || true"
                let recorded = try await place.run("record", origin, script)
                let host = "any: would not run: requests to '\(origin.address)' could not be read"
                #expect(recorded.error.contains(host), "\(recorded)")
                #expect(recorded.error.contains("the client does not trust the certificate"), "\(recorded)")
                let jobs = try await place.jobs()
                #expect(jobs.status == 1 && jobs.text.contains(host), "\(jobs)")
                let replayed = try await place.run("replay", origin, script)
                #expect(replayed.status == 1 && replayed.error.contains("' could not be read"), "\(replayed)")
                #expect(!replayed.error.contains("no request was sent"), "\(replayed)")
                #expect(try await place.run("replay", origin, options: ["--allow-refused"], script).status == 0)
                // A command that fails leaves no job, but the reason.
                let failed = try await place.run("record", origin, options: ["--replace"], script + "; exit 3")
                #expect(failed.status == 3 && failed.error.contains("' could not be read"), "\(failed)")
            }
        }
    }

    /// The client ends the handshake, compares the key, and closes the connection.
    @Test func programThatKnowsOneKeyIsNamed() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                let key = "sha256//\(String(repeating: "A", count: 43))="
                let pinned = "curl -sS --pinnedpubkey \(key) \(origin.url)/a || true"
                let recorded = try await place.run("record", origin, pinned)
                let words = "no request came through the tunnel to '\(origin.address)'"
                #expect(recorded.error.contains("any: would not run: \(words)"), "\(recorded)")
                let jobs = try await place.jobs("--format", "json")
                let list = try #require(try JSONSerialization.jsonObject(with: jobs.output) as? [[String: Any]])
                let unread = list.first?["unread"] as? [[String: String]]
                #expect(unread?.map { $0["host"] } == [origin.address] && jobs.status == 1, "\(jobs)")
                // Clients open connections that they do not use.
                let script = fetching(origin) + "; " + pinned
                let both = try await place.run("record", origin, options: ["--replace"], script)
                #expect(both.status == 0 && both.error.contains("any: would run: 2 requests"), "\(both)")
            }
        }
    }

    /// Mutant: `a-replays-proxy-knows-no-websockets`.
    @Test func webSocketOfAReplayIsRefused() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                _ = try await place.run("record", origin, fetching(origin))
                let fields = [
                    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                ]
                let options = fields.map { "-H '\($0)'" }.joined(separator: " ")
                let script = "curl -sS --http1.1 -o /dev/null \(options) \(origin.url)/socket"
                let replayed = try await place.run("replay", origin, script)
                let words = "holdfast refused GET \(origin.url)/socket: No response is recorded for it."
                #expect(replayed.status == 1 && replayed.error.contains(words), "\(replayed)")
            }
        }
    }

    @Test func refusedPortsAreNamed() async throws {
        try await Place.with { place in
            try await SecureOrigin.with { origin, _ in
                let script = "set -e; curl -sSf \(origin.url)/a > /dev/null; "
                let requests = "curl -sS http://a.invalid:8080/; curl -sS https://b.invalid:8443/ || true"
                let recorded = try await place.run("record", origin, script + requests)
                let words = [
                    "requests to 'a.invalid:8080' were refused (the port needs '--allow-port 8080')",
                    "requests to 'b.invalid:8443' were refused (the port needs '--allow-port 8443')",
                ]
                #expect(recorded.error.contains("any: would not run: \(words[0])"), "\(recorded)")
                #expect(recorded.error.contains(words[1]), "\(recorded)")
                let jobs = try await place.jobs("--format", "json")
                let list = try #require(try JSONSerialization.jsonObject(with: jobs.output) as? [[String: Any]])
                let refused = list.first?["refusedHosts"] as? [[String: String]]
                #expect(refused?.map { $0["host"] } == ["a.invalid:8080", "b.invalid:8443"], "\(jobs)")
                #expect(list.first?["wouldRun"] as? Bool == false && jobs.status == 1)
            }
        }
    }
}
