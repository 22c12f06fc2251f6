import Foundation
import HoldfastTesting
import SampleOrigin
import Synchronization
import TestSupport
import Testing

/// The commands for a fleet, with real gateways and a real `redis-server`.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastFleetCommandTests {
    private static let secret = Data(repeating: 0x61, count: 32)

    /// A configuration of a node.
    private func write(
        _ folder: PurgedGateway.Folder,
        _ origin: RunningOrigin,
        port: Int,
        node: String = "gw-a",
        user: String = "",
        _ more: String = ""
    ) throws {
        try folder.write(
            origin,
            """
            fleet: {url: "redis://\(user)127.0.0.1:\(port)", namespace: test, node: \(node), secret: {file: secret}\(more)}
            """
        )
        try write(Self.secret, to: folder.path + "/secret")
    }

    /// Writes a file that only its owner can read.
    private func write(_ secret: Data, to path: String) throws {
        try secret.write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    private func fleet(_ folder: PurgedGateway.Folder, _ arguments: [String]) async throws -> Tool.Outcome {
        try await Tool("holdfast").run(
            arguments: ["fleet"] + arguments + ["--config", folder.file],
            environment: ["RUNTIME_DIRECTORY": ""]
        )
    }

    private func withFolder(_ body: (PurgedGateway.Folder, RunningOrigin) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await body(folder, origin)
            }
        }
    }

    // MARK: check

    @Test func commandWithItsOldNameNamesTheNewOne() async throws {
        let outcome = try await Tool("holdfast").run(arguments: ["shared", "check"])
        #expect(outcome.status == 64)
        #expect(outcome.error == "Error: 'holdfast shared' was renamed. Use 'holdfast fleet'.\n")
    }

    @Test func checkSaysWhatIsMissing() async throws {
        try await FleetServer.with { redis in
            try await withFolder { folder, origin in
                try write(folder, origin, port: redis.port)
                let outcome = try await fleet(folder, ["check"])
                #expect(outcome.status == 0 && outcome.error == "", "\(outcome)")
                #expect(outcome.lines.first?.hasPrefix("ok       version      Redis ") == true, "\(outcome.text)")
                #expect(outcome.text.contains("\nwarning  persistence  No append-only file"), "\(outcome.text)")
                let json = try await fleet(folder, ["check", "--format", "json"])
                let findings = try json.objects()
                let help = try await Tool("holdfast").run("fleet", "check", "--help").text
                for key in findings.first?.keys.sorted() ?? [] { #expect(help.contains(key), "\(key)") }
                #expect(findings.count == outcome.lines.count && findings.allSatisfy { $0.count == 5 }, "\(json)")
                #expect(await redis.run(["DBSIZE"]).contains(":0\r\n"))
            }
        }
    }

    @Test func checkNamesTheRuleForAUserWithTooFewRights() async throws {
        try await FleetServer.with { redis in
            try await withFolder { folder, origin in
                _ = await redis.run(["ACL SETUSER app on >pw ~* -@all +ping"])
                try write(Data("pw\n".utf8), to: folder.path + "/password")
                try write(folder, origin, port: redis.port, user: "app@", ", password: {file: password}")
                let outcome = try await fleet(folder, ["check"])
                #expect(outcome.status == 1, "\(outcome)")
                let line = outcome.lines.first { $0.hasPrefix("error    rights ") }
                let rule = try #require(line?.components(separatedBy: "of the server, run: ").last, "\(outcome)")
                #expect(rule.hasPrefix("ACL SETUSER app on >PASSWORD resetkeys ~hf1:test:* -@all +del"), "\(rule)")
                for command in ["log", "status"] {
                    let rejected = try await fleet(folder, [command])
                    #expect(rejected.status == 1 && rejected.error.contains("may not read the log"), "\(rejected)")
                }
                _ = await redis.run([rule.replacingOccurrences(of: ">PASSWORD", with: ">pw")])
                #expect(try await fleet(folder, ["check"]).status == 0)
                for command in ["log", "status"] { #expect(try await fleet(folder, [command]).status == 0) }
            }
        }
    }

    @Test(arguments: ["check", "log", "status"]) func serverThatCannotBeUsedIsSaidInASentence(
        _ command: String
    ) async throws {
        try await FleetServer.with(["--requirepass", "right"]) { redis in
            try await withFolder { folder, origin in
                let password = ", password: {file: secret}"
                // Another password.
                try write(folder, origin, port: redis.port, password)
                let wrong = try await fleet(folder, [command])
                #expect(wrong.status == 1 && (wrong.text + wrong.error).contains("WRONGPASS"), "\(wrong)")
                // Not a Redis: the origin of HTTP.
                let port = try #require(URL(string: origin.baseURL)?.port)
                try write(folder, origin, port: port, password)
                let other = try await fleet(folder, [command])
                #expect(other.status == 1 && (other.text + other.error).contains("not RESP"), "\(other)")
                // A process that hangs.
                try write(folder, origin, port: redis.port, password)
                redis.signal(SIGSTOP)
                let hanging = try await fleet(folder, [command])
                let text = hanging.text + hanging.error
                #expect(hanging.status == 1 && text.contains("did not reply within"), "\(hanging)")
                #expect(!text.contains(".."), "\(text)")
                try await redis.end()
                let none = try await fleet(folder, [command])
                #expect(none.status == 1 && (none.text + none.error).contains("Connection refused."), "\(none)")
            }
        }
    }

    @Test func oldServerIsAnError() async throws {
        let old = try FakeRedis { command in
            switch command.first {
            case "HELLO": "%3\r\n+version\r\n+6.0.16\r\n+proto\r\n:3\r\n+role\r\n+master\r\n"
            case "INFO": "$23\r\nredis_version:6.0.16\r\n#\r\n\r\n"
            default: "-ERR unknown command\r\n"
            }
        }
        try await withFolder { folder, origin in
            try write(folder, origin, port: old.port)
            let outcome = try await fleet(folder, ["check"])
            #expect(outcome.status == 1, "\(outcome)")
            let words = "error    version      Redis 6.0.16 at '127.0.0.1:\(old.port)' is too old"
            #expect(outcome.text.hasPrefix(words), "\(outcome)")
        }
    }

    @Test func fileIsNeededAndMustShare() async throws {
        try await withFolder { folder, origin in
            try folder.write(origin)
            for command in ["check", "log", "status"] {
                let none = try await fleet(folder, [command])
                #expect(
                    none.status == 1 && none.error.contains("does not set 'fleet.url', so the gateway"),
                    "\(none)"
                )
                let unnamed = try await Tool("holdfast").run(arguments: ["fleet", command])
                #expect(unnamed.status == 64 && unnamed.error.contains("'--config'"), "\(unnamed)")
            }
            try write(folder, origin, port: 1)
            try write(Data("short".utf8), to: folder.path + "/secret")
            let short = try await fleet(folder, ["check"])
            #expect(short.status == 1 && short.error.contains("fleet.secret: The secret has 5 bytes"), "\(short)")
            let limit = try await fleet(folder, ["log", "--limit", "-1"])
            #expect(limit.status == 64, "\(limit)")
        }
    }

    // MARK: status and log

    @Test func logAndStatusShowPurgesAndNodes() async throws {
        try await FleetServer.with { redis in
            try await withFolder { folder, origin in
                try write(folder, origin, port: redis.port)
                let empty = try await fleet(folder, ["log"])
                #expect(
                    empty.status == 0 && empty.text == "" && empty.error.contains("is empty or missing"),
                    "\(empty)"
                )
                try await PurgedGateway.with(folder) { gateway in
                    let wait = ["--wait", "published", "--within", "1m"]
                    let url = "\(origin.baseURL)/a?token=hidden&b=1"
                    for arguments in [["--tag", "news"], [url, "--remove", "--yes"]] {
                        let purge = try await gateway.purge(arguments + wait)
                        #expect(purge.status == 0, "\(purge)")
                    }
                    // On a busy machine the server may not have replied in time a moment ago.
                    var status = try await fleet(folder, ["status"])
                    while status.lines.first != "1 node, all up to date." {
                        try Task.checkCancellation()
                        status = try await fleet(folder, ["status"])
                    }
                    #expect(status.status == 0, "\(status)")
                    #expect(status.text.contains("  gw-a              this node, following at "), "\(status)")
                    let json = try #require(try await fleet(folder, ["status", "--format", "json"]).objects().first)
                    #expect(json["source"] as? String == "gateway" && json["gaps"] is Int, "\(json)")
                    // Until its row is there.
                    while await !redis.run(["HLEN hf1:test:{log}:n"]).contains(":1\r\n") {
                        try Task.checkCancellation()
                        await Task.yield()
                    }
                }
                let log = try await fleet(folder, ["log"])
                // A purge of an origin's URL covers what it serves under the hosts of its routes.
                #expect(log.status == 0 && log.lines.count >= 3, "\(log)")
                #expect(log.lines.first?.contains("a new server: epoch ") == true, "\(log)")
                #expect(log.lines.dropFirst().first?.contains("  gw-a          expire  tag news") == true, "\(log)")
                let url = "  gw-a          remove  url \(origin.baseURL)/a?token=REDACTED&b=1"
                #expect(log.lines.filter { $0.hasSuffix(url) }.count == 1, "\(log.text)")
                #expect(log.lines.dropFirst(2).allSatisfy { $0.contains("/a?token=REDACTED&b=1") }, "\(log.text)")
                let last = try await fleet(folder, ["log", "--limit", "1", "--format", "json"]).objects()
                #expect(last.count == 1 && last[0]["action"] as? String == "remove" && last[0].count == 9, "\(last)")
                #expect(try await fleet(folder, ["log", "--limit", "0"]).text == "")
                // No gateway runs any more, so the server is asked.
                let status = try await fleet(folder, ["status", "--format", "json"])
                let report = try #require(try status.objects().first, "\(status)")
                #expect(report["source"] as? String == "server", "\(report)")
                #expect((report["nodes"] as? [[String: Any]])?.first?["name"] as? String == "gw-a", "\(report)")
                #expect((report["history"] as? [[String: Any]])?.count == 1, "\(report)")
                let words = try await fleet(folder, ["status"])
                #expect(words.text.contains("  epoch             "), "\(words)")
                try await cacheDump(folder)
            }
        }
    }

    private func cacheDump(_ folder: PurgedGateway.Folder) async throws {
        let dump = try await Tool.cacheDump.run("fleet", folder.store)
        #expect(dump.status == 0 && dump.text.contains("  log         'test'; this store is "), "\(dump)")
        #expect(dump.text.contains("  journal     0 unsent, "), "\(dump)")
        // Purged without a gateway, it waits for one.
        #expect(try await folder.purge(["http://a.example/b?token=hidden"]).status == 0)
        let waiting = try await Tool.cacheDump.run("fleet", folder.store)
        #expect(waiting.text.contains("  unsent    "), "\(waiting)")
        #expect(waiting.text.contains("  expire  url http://a.example/b?token=REDACTED"), "\(waiting)")
        let objects = try await Tool.cacheDump.run("fleet", folder.store, "--format", "json").objects()
        #expect(objects.count == (objects.last?["unsettled"] as? Int ?? 0) + 2, "\(objects)")
        #expect(objects.first?["entry"] as? String == "unsent" && objects.last?["unsent"] as? Int == 1, "\(objects)")
        let help = try await Tool.cacheDump.run("fleet", "--help").text
        for key in objects.flatMap(\.keys) { #expect(help.contains(key), "\(key)") }
    }

    @Test func storeOutsideOfAFleetHasNoJournal() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("fleet", store)
            #expect(outcome.status == 1 && outcome.error.contains("never joined a fleet log"), "\(outcome)")
        }
    }

    @Test func logIsFollowed() async throws {
        try await FleetServer.with { redis in
            try await withFolder { folder, origin in
                try write(folder, origin, port: redis.port)
                try await PurgedGateway.with(folder) { gateway in
                    // Until there is a log.
                    let first = try await gateway.purge(["--all", "--wait", "published", "--within", "1m"])
                    #expect(first.status == 0, "\(first)")
                    let pipe = Pipe()
                    let process = try ChildProcess(
                        Tool("holdfast").url,
                        ["fleet", "log", "--follow", "--limit", "0", "--config", folder.file],
                        output: pipe.fileHandleForWriting.fileDescriptor,
                        error: FileHandle.standardError.fileDescriptor
                    )
                    try pipe.fileHandleForWriting.close()
                    let output = OutputReader(pipe)
                    _ = try await process.end {
                        // Until it follows: earlier purges may not be shown.
                        let line = Task { await output.firstLine() }
                        let isDone = Mutex(false)
                        let purging = Task {
                            while !isDone.withLock({ $0 }) { _ = try await gateway.purge(["--tag", "followed"]) }
                        }
                        #expect(await line.value.contains("expire  tag followed"))
                        isDone.withLock { $0 = true }
                        try await purging.value
                        kill(process.identifier, SIGKILL)
                    }
                }
            }
        }
    }

    // MARK: audit

    /// Mutants: `audit-looks-for-clients-urls`, `audit-looks-for-clients-prefixes`.
    @Test func auditFindsWhatIsStillFresh() async throws {
        try await FleetServer.with { redis in
            try await withFolder { folder, origin in
                try write(folder, origin, port: redis.port)
                try await PurgedGateway.with(folder) { gateway in
                    try await PurgedGateway.Folder.with { other in
                        // Outside of the fleet: no purge comes there.
                        try other.write(origin, #"  - {match: {url: "/p"}, ignore: {parameters: [s]}}"#)
                        try await PurgedGateway.with(other) { alone in
                            let targets = [
                                PurgedGateway.Target(path: "/news/1"), PurgedGateway.Target(path: "/b"),
                                PurgedGateway.Target(path: "/p?s=1"), PurgedGateway.Target(path: "/c", host: "b.test"),
                            ]
                            for gateway in [gateway, alone] { try await gateway.warm(targets) }
                            try await audit(gateway, alone, origin)
                        }
                    }
                }
            }
        }
    }

    private func audit(_ gateway: PurgedGateway, _ alone: PurgedGateway, _ origin: RunningOrigin) async throws {
        func run(_ arguments: [String]) async throws -> Tool.Outcome {
            try await Tool("holdfast").run(arguments: ["fleet", "audit"] + arguments)
        }
        let (own, foreign) = (["--control", gateway.folder.socket], ["--control", alone.folder.socket])
        let both = own + foreign
        let purge = ["--tag", "news", "--purge", "--at", "0,0"]
        let outcome = try await run(purge + both)
        #expect(outcome.status == 1 && outcome.lines.count == 4, "\(outcome)")
        #expect(outcome.lines.first == "0 s    \(gateway.folder.socket)  clean", "\(outcome)")
        #expect(outcome.lines.last?.contains("  1 still fresh, such as \(origin.baseURL)/news/1") == true, "\(outcome)")
        for selector in [["--tag", "news"], ["http://a.test/news/1"], ["--prefix", "http://a.test/news/"]] {
            let clean = try await run(selector + ["--at", "0"] + own)
            #expect(clean.status == 0, "\(clean)")
        }
        // By each selector: also by clients' URLs and prefixes, with a parameter that the node
        // ignores, and by an origin's URL whose route preserves the client's host.
        let host = try #require(URL(string: origin.baseURL)?.host)
        for selector in [
            ["\(origin.baseURL)/b"], ["--prefix", "\(origin.baseURL)/b"], ["--host", host], ["--all"],
            ["http://a.test/b"], ["--prefix", "http://a.test/b"], ["http://a.test/p?s=2"], ["\(origin.baseURL)/p?s=2"],
            ["\(origin.baseURL)/c"],
        ] {
            let fresh = try await run(selector + ["--at", "0", "--format", "json"] + foreign)
            let report = try #require(try fresh.objects().first, "\(fresh)")
            #expect(
                fresh.status == 1 && report["clean"] as? Bool == false && report.count == 6,
                "\(selector) \(fresh)"
            )
        }
        let shorter = try await run(["\(origin.baseURL)/", "--at", "0"] + foreign)
        #expect(shorter.status == 0, "\(shorter)")
        // Fetched after the purge, it may be fresh.
        try await gateway.warm([PurgedGateway.Target(path: "/news/1")])
        let since = try await run(["--tag", "news", "--at", "0", "--since", "-1h"] + own)
        #expect(since.status == 0, "\(since)")
        let later = try await run(["--tag", "news", "--at", "0"] + own)
        #expect(later.status == 1, "\(later)")
        // A wrong path fails at once, whatever '--at' says.
        for (path, words) in [
            ("/nowhere", "No gateway listens on the control socket '/nowhere'."),
            (gateway.folder.store, "If it is a store, name its socket: '\(gateway.folder.socket)'."),
        ] {
            let none = try await run(["--tag", "news", "--at", "600", "--control", path])
            #expect(none.status == 1 && none.output.isEmpty && none.error.contains(words), "\(none)")
        }
        // A selector that cannot be read is not clean, also beside one that is.
        for selector in [["--host", "a b"], ["--prefix", "no-url"], ["/path", "--tag", "none"], ["--tag", ""]] {
            let unread = try await run(selector + ["--at", "0"] + own)
            #expect(unread.status != 0 && !unread.text.contains("clean"), "\(unread)")
        }
        for wrong in [["--tag", "a"], ["--tag", "a", "--at", "x"] + own, own, purge + own + ["--since", "-1m"]] {
            #expect(try await run(wrong).status == 64, "\(wrong)")
        }
        for wrong in [
            ["--node", "127.0.0.1:1"], ["--node", "127.0.0.1", "--token-file", "none"],
            ["--control", "none", "--token-file", "none"], ["--control", "none", "--reason", "b"],
        ] {
            let outcome = try await run(["--tag", "a"] + wrong)
            #expect(outcome.status == 64, "\(outcome)")
        }
        let dryRun = try await run(["--tag", "a", "--dry-run"] + own)
        #expect(dryRun.status == 64 && dryRun.error.contains("Unknown option '--dry-run'"), "\(dryRun)")
        // A node that nothing runs at is not reported as a process with a wrong response.
        let port = try HeldPort()
        defer { withExtendedLifetime(port) {} }
        try writeFile("\(gateway.folder.path)/audit.token", Array("token".utf8))
        let away = try await run(
            ["--tag", "a", "--at", "0", "--node", "127.0.0.1:\(port.port)"]
                + ["--token-file", "\(gateway.folder.path)/audit.token"]
        )
        #expect(away.status == 1 && away.text.contains("accepts no connections"), "\(away)")
    }
}

/// A server that replies to commands as a test says, each connection on a thread.
private final class FakeRedis: Sendable {
    private let socket: ListeningSocket
    var port: Int { socket.port }

    init(_ reply: @escaping @Sendable ([String]) -> String) throws {
        socket = try ListeningSocket()
        let listener = socket.descriptor
        Thread.detachNewThread {
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                Thread.detachNewThread {
                    Self.serve(descriptor, reply)
                    close(descriptor)
                }
            }
        }
    }

    deinit { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }

    /// Commands come as arrays of texts without line ends.
    private static func serve(_ descriptor: Int32, _ reply: ([String]) -> String) {
        var text = ""
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count > 0 else { return }
            text += String(decoding: piece[..<count], as: UTF8.self)
            while let command = next(&text) {
                let bytes = Array(reply(command).utf8)
                guard write(descriptor, bytes, bytes.count) == bytes.count else { return }
            }
        }
    }

    private static func next(_ text: inout String) -> [String]? {
        let lines = text.components(separatedBy: "\r\n")
        guard let count = lines.first.flatMap({ Int($0.dropFirst()) }), lines.count > 2 * count + 1 else { return nil }
        text = lines[(2 * count + 1)...].joined(separator: "\r\n")
        return (0..<count).map { lines[2 * $0 + 2] }
    }
}
