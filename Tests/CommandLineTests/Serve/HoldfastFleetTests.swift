import Foundation
import SampleOrigin
import Testing

/// Purges of gateways that share them, with a real `redis-server`.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastFleetTests {
    private static let targets = [PurgedGateway.Target(path: "/news/1"), PurgedGateway.Target(path: "/other")]

    private static func section(_ port: Int, node: String, _ more: String = "") -> String {
        """
        fleet: {url: "redis://127.0.0.1:\(port)", namespace: test, node: \(node), secret: {file: secret}\(more)}
        """
    }

    private func write(_ folder: PurgedGateway.Folder, _ origin: RunningOrigin, _ section: String) throws {
        try folder.write(origin, section)
        let secret = folder.path + "/secret"
        try Data(repeating: 0x61, count: 32).write(to: URL(fileURLWithPath: secret))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
    }

    @Test func aPurgeSaysHowFarItHasCome() async throws {
        try await FleetServer.with { redis in
            try await PurgedGateway.Folder.with { folder in
                try await PurgedGateway.Folder.with { other in
                    try await SampleOrigin.withOrigin { origin in
                        origin.respond("v1")
                        try write(folder, origin, Self.section(redis.port, node: "gw-a"))
                        try write(other, origin, Self.section(redis.port, node: "gw-b"))
                        try await PurgedGateway.with(folder) { gateway in
                            // A second gateway that is stopped meanwhile is ended by force.
                            try await PurgedGateway.with(other, signal: SIGKILL) { second in
                                try await everywhere(gateway, second, origin)
                                try await behind(gateway, second)
                                try await redis.end()
                                try await queued(gateway)
                            }
                        }
                    }
                }
            }
        }
    }

    private func everywhere(_ gateway: PurgedGateway, _ second: PurgedGateway, _ origin: RunningOrigin) async throws {
        try await together(gateway)
        for gateway in [gateway, second] { try await gateway.warm(Self.targets) }
        let purge = try await gateway.purge(["--tag", "news", "--wait", "everywhere", "--within", "1m"])
        #expect(purge.status == 0 && purge.text.contains("In force on all 2 nodes."), "\(purge)")
        // On a busy machine the server may not have replied in time a moment ago.
        var status = try await gateway.run(["status"])
        while !status.text.contains("  fleet          gw-a following at ") {
            try Task.checkCancellation()
            status = try await gateway.run(["status"])
        }
        #expect(status.text.contains("\n  node           gw-b, seen "), "\(status)")
        // Not later than the command's end.
        await origin.stop()
        let response = try await second.get("/news/1")
        #expect(response.contains("detail=unreachable"), "\(response)")
        #expect(try await !second.get("/other").contains("detail=unreachable"))
        let reply = try await gateway.post(#"{"select": {"tags": ["news"]}, "wait": "published", "within": "1m"}"#)
        #expect(reply.status == 200 && reply.json["reached"] as? String == "published", "\(reply.text)")
        #expect(reply.json["position"] is String && reply.json["nodes"] == nil && reply.json["sequence"] is Int)
    }

    private func behind(_ gateway: PurgedGateway, _ second: PurgedGateway) async throws {
        second.server.signal(SIGSTOP)
        let purge = try await gateway.purge(["--tag", "news", "--wait", "everywhere", "--within", "300ms"])
        #expect(purge.status == 2 && purge.text.contains("1 of 2 nodes has not applied the purge yet"), "\(purge)")
        #expect(purge.text.contains("\n  waiting  gw-b, seen "), "\(purge)")
        // The server has no replicas. Mutant: `purge-without-replicas-is-replicated`.
        #expect(purge.text.contains(" Published to other nodes. 1 of 2 "), "\(purge)")
        let reply = try await gateway.post(
            #"{"select": {"tags": ["news"]}, "wait": "everywhere", "within": "300ms"}"#,
            ["-H", "Idempotency-Key: one"]
        )
        #expect(reply.status == 202 && reply.json["reached"] as? String == "replicated", "\(reply.text)")
    }

    private func queued(_ gateway: PurgedGateway) async throws {
        let purge = try await gateway.purge(["--tag", "news", "--wait", "published", "--within", "100ms"])
        #expect(purge.status == 2 && purge.text.contains("Not yet published to other nodes."), "\(purge)")
        let asked = try await gateway.post(#"{"select": {"tags": ["news"]}, "wait": "published", "within": "100ms"}"#)
        #expect(asked.status == 202 && asked.json["reached"] as? String == "queued", "\(asked.text)")
        // Clients that ask for nothing see the status that they always saw.
        let plain = try await gateway.post(#"{"select": {"tags": ["news"]}, "within": "100ms"}"#)
        #expect(plain.status == 200 && plain.json["reached"] as? String == "queued", "\(plain.text)")
        let status = try await gateway.run(["status"])
        #expect(status.lines.first?.contains("Unsent purges of this node") == true, "\(status)")
        let command = try await gateway.purge(["--tag", "news", "--within", "100ms"])
        #expect(command.status == 0, "\(command)")
    }

    /// By default all gateways of one host have one name.
    @Test func gatewaysWithOneNameAreToldApart() async throws {
        try await FleetServer.with { redis in
            try await PurgedGateway.Folder.with { folder in
                try await PurgedGateway.Folder.with { other in
                    try await SampleOrigin.withOrigin { origin in
                        origin.respond("v1")
                        for folder in [folder, other] {
                            try write(folder, origin, Self.section(redis.port, node: "gw", ", lease: 2s, timeout: 10s"))
                        }
                        try await PurgedGateway.with(folder) { gateway in
                            try await PurgedGateway.with(other, signal: SIGKILL) { second in
                                try await together(gateway)
                                second.server.signal(SIGSTOP)
                                let purge = try await gateway.purge([
                                    "--all", "--wait", "everywhere", "--within", "300ms",
                                ])
                                #expect(purge.status == 2 && purge.text.contains("\n  waiting  gw, seen "), "\(purge)")
                                let check = try await Self.check(folder)
                                #expect(check.text.contains("2 nodes are named 'gw': "), "\(check)")
                                #expect(
                                    check.status == 0 && check.text.contains("Set a different 'fleet.node'"),
                                    "\(check)"
                                )
                                try await forgets(folder, redis)
                                let status = try await gateway.run(["fleet", "status"])
                                #expect(
                                    status.lines.first?.contains("several named 'gw'") == true,
                                    "\(status)"
                                )
                            }
                        }
                    }
                }
            }
        }
    }

    private static func check(_ folder: PurgedGateway.Folder) async throws -> Tool.Outcome {
        try await Tool("holdfast").run(arguments: ["fleet", "check", "--config", folder.file])
    }

    /// A node that is silent for 10 s, and no other.
    private func forgets(_ folder: PurgedGateway.Folder, _ redis: FleetServer) async throws {
        let identity = String(repeating: "0a", count: 16) + ".0000000000000001"
        let young = String(repeating: "0b", count: 16) + ".0000000000000001"
        _ = await redis.run([
            #"HSET hf1:test:{log}:n \#(identity) "2 gw-old 1-1 0 0 up 1.0 1000""#,
            #"HSET hf1:test:{log}:n \#(young) "2 gw-young 1-1 0 0 up 1.0 99999999999999""#,
        ])
        func forget(_ node: String) async throws -> Tool.Outcome {
            try await Tool("holdfast").run(arguments: ["fleet", "forget", node, "--config", folder.file])
        }
        let forgotten = try await forget("gw-old")
        #expect(
            forgotten.status == 0 && forgotten.text.hasPrefix("Forgot 'gw-old', \(identity), seen "),
            "\(forgotten)"
        )
        let again = try await forget(identity)
        #expect(
            again.status == 1 && again.error.contains("No node has the name or identity '\(identity)'."),
            "\(again)"
        )
        let running = try await forget("gw-young")
        #expect(running.status == 1 && running.error.contains("Stop it first."), "\(running)")
        _ = await redis.run(["HDEL hf1:test:{log}:n \(young)"])
    }

    /// Until it serves its store: it has read what was purged before its start.
    private func ready(_ gateway: PurgedGateway) async throws {
        while try await gateway.curl("/readyz").status != 200 { try Task.checkCancellation() }
    }

    /// Until two are in the fleet, and have what is purged.
    private func together(_ gateway: PurgedGateway) async throws {
        var nodes: [String: Any]?
        repeat {
            let purge = try await gateway.purge(["--all", "--wait", "everywhere", "--within", "1m", "--format", "json"])
            #expect(purge.status == 0, "\(purge.error)")
            nodes = try #require(try purge.objects().first)["nodes"] as? [String: Any]
        } while nodes?["applied"] as? Int != 2
    }

    /// Its first responses, too: the log is read before anything of the store is served as fresh.
    @Test func aGatewayThatStartsHasWhatWasPurgedWhileItWasDown() async throws {
        try await FleetServer.with { redis in
            try await PurgedGateway.Folder.with { folder in
                try await PurgedGateway.Folder.with { other in
                    try await SampleOrigin.withOrigin { origin in
                        try write(folder, origin, Self.section(redis.port, node: "gw-a"))
                        try write(other, origin, Self.section(redis.port, node: "gw-b", ", timeout: 10s"))
                        try await PurgedGateway.with(folder) { gateway in
                            for round in 1...5 {
                                origin.respond("v\(round)")
                                try await PurgedGateway.with(other) { earlier in
                                    try await ready(earlier)
                                    try await earlier.warm(Self.targets)
                                }
                                origin.respond("v\(round + 1)")
                                let purge = try await gateway.purge(["--all", "--wait", "published", "--within", "1m"])
                                #expect(purge.status == 0, "\(purge)")
                                try await PurgedGateway.with(other) { started in
                                    for _ in 0..<30 {
                                        let response = try await started.get("/news/1")
                                        #expect(response.hasSuffix("v\(round + 1)"), "round \(round): \(response)")
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// A server that is not there delays no response of the store.
    @Test func aGatewayStartsWithoutTheServer() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                let port = try ListeningSocket().port
                try write(folder, origin, Self.section(port, node: "gw-a"))
                for _ in 0..<2 {
                    try await PurgedGateway.with(folder) { gateway in
                        // It is ready when it has given up.
                        try await ready(gateway)
                        try await gateway.warm(Self.targets)
                    }
                }
            }
        }
    }

    // MARK: Secrets

    /// Each step of 'Replace the secret' in the manual, one node after the other and without a
    /// restart, loses no purge.
    @Test func theSecretIsReplacedAsTheManualSays() async throws {
        let manual = try Manual()
        #expect(manual.steps.map(\.count) == [3, 3, 3] && manual.files.count == 3, "\(manual)")
        try await FleetServer.with { redis in
            try await PurgedGateway.Folder.with { folder in
                try await PurgedGateway.Folder.with { other in
                    try await SampleOrigin.withOrigin { origin in
                        origin.respond("v0")
                        for (folder, name) in [(folder, "gw-a"), (other, "gw-b")] {
                            try configure(folder, origin, redis, name, manual.settings)
                            try manual.write(["old", "old", "old"], to: folder)
                        }
                        try await PurgedGateway.with(folder) { first in
                            try await PurgedGateway.with(other) { second in
                                for gateway in [first, second] { try await ready(gateway) }
                                try await together(first)
                                for (number, step) in manual.steps.enumerated() {
                                    for (node, folder) in [(first, folder), (second, other)] {
                                        try manual.write(step, to: folder)
                                        let reload = try await node.run(["reload"])
                                        let isRead = reload.status == 0 && reload.text.contains("changed file: ")
                                        #expect(isRead, "\(reload)")
                                        let name = folder.path == other.path ? "b" : "a"
                                        try await purged((first, second), origin, "v\(number)-\(name)-1")
                                        try await purged((second, first), origin, "v\(number)-\(name)-2")
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private func purged(
        _ gateways: (PurgedGateway, PurgedGateway),
        _ origin: RunningOrigin,
        _ text: String
    ) async throws {
        for gateway in [gateways.0, gateways.1] { try await gateway.warm(Self.targets) }
        origin.respond(text)
        let purge = try await gateways.0.purge(["--tag", "news", "--wait", "everywhere", "--within", "1m"])
        #expect(purge.status == 0 && purge.text.contains("In force on all 2 nodes."), "\(purge)")
        #expect(try await gateways.1.get("/news/1").hasSuffix(text))
    }

    private func configure(
        _ folder: PurgedGateway.Folder,
        _ origin: RunningOrigin,
        _ redis: FleetServer,
        _ name: String,
        _ settings: String
    ) throws {
        let lines = settings.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
        let text = """
            fleet:
              url: "redis://127.0.0.1:\(redis.port)"
              namespace: test
              node: \(name)
              lease: 2s
              timeout: 10s
            \(lines)
            """
        try folder.write(origin, text)
    }

    /// The settings and the steps of the manual, with the files in the folder of the configuration.
    private struct Manual {
        /// The settings, a line each.
        let settings: String
        /// The files' names, in the order of the settings.
        let files: [String]
        /// `old` or `new` for each file, by step.
        let steps: [[String]]

        init() throws {
            let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/fleet.md")
            let text = try String(contentsOf: page, encoding: .utf8)
            let section = try #require(text.components(separatedBy: "\n## Replace the secret\n").last)
                .components(separatedBy: "\n## ")[0]
            let block = try #require(section.components(separatedBy: "```yaml\n").last)
            let lines = block.components(separatedBy: "```")[0].split(separator: "\n").dropFirst()
                .map { $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "/run/secrets/", with: "") }
            settings = lines.joined(separator: "\n")
            files = lines.map { String($0.components(separatedBy: "{file: ").last?.dropLast() ?? "") }
            steps = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
                .map { row in
                    row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                        .filter { ["old", "new"].contains($0) }
                }
        }

        func write(_ step: [String], to folder: PurgedGateway.Folder) throws {
            for (file, secret) in zip(files, step) {
                let path = "\(folder.path)/\(file)"
                try Data(repeating: secret == "old" ? 0x61 : 0x62, count: 32).write(to: URL(fileURLWithPath: path))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            }
        }
    }

    @Test func aGatewayThatSharesNothingSaysSo() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let purge = try await gateway.purge(["--all", "--wait", "everywhere", "--format", "json"])
            #expect(purge.status == 2 && purge.error.contains("this gateway shares no purges. Set"), "\(purge)")
            #expect(try purge.objects().first?["reached"] == nil)
            for (arguments, words) in [
                (["--wait", "all"], "'--wait <level>'"),
                (["--within", "2m"], "'--within' must be a time of at most 1m"),
            ] {
                let wrong = try await gateway.purge(["--all"] + arguments)
                #expect(wrong.status == 64 && wrong.error.contains(words), "\(wrong)")
            }
        }
    }
}
