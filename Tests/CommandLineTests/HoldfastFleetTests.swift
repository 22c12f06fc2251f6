import Foundation
import SampleOrigin
import Testing

/// Purges of gateways that share them, with a real `redis-server`.
@Suite("a fleet's purges", .timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastFleetTests {
    private static let targets = [PurgedGateway.Target(path: "/news/1"), PurgedGateway.Target(path: "/other")]

    private static func shared(_ port: Int, node: String, _ more: String = "") -> String {
        """
        shared: {url: "redis://127.0.0.1:\(port)", namespace: test, node: \(node), secret: {file: secret}\(more)}
        """
    }

    private func write(_ folder: PurgedGateway.Folder, _ origin: RunningOrigin, _ shared: String) throws {
        try folder.write(origin, shared)
        try Data(repeating: 0x61, count: 32).write(to: URL(fileURLWithPath: folder.path + "/secret"))
    }

    @Test func aPurgeSaysHowFarItHasCome() async throws {
        try await FleetServer.with { redis in
            try await PurgedGateway.Folder.with { folder in
                try await PurgedGateway.Folder.with { other in
                    try await SampleOrigin.withOrigin { origin in
                        origin.respond("v1")
                        try write(folder, origin, Self.shared(redis.port, node: "gw-a"))
                        try write(other, origin, Self.shared(redis.port, node: "gw-b"))
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
        // Until both are in the fleet.
        var nodes: [String: Any]?
        repeat {
            let purge = try await gateway.purge(["--all", "--wait", "everywhere", "--within", "1m", "--format", "json"])
            #expect(purge.status == 0, "\(purge.error)")
            nodes = try #require(try purge.objects().first)["nodes"] as? [String: Any]
        } while nodes?["applied"] as? Int != 2
        for gateway in [gateway, second] { try await gateway.warm(Self.targets) }
        let purge = try await gateway.purge(["--tag", "news", "--wait", "everywhere", "--within", "1m"])
        #expect(purge.status == 0 && purge.text.contains("In force at all 2 nodes."), "\(purge)")
        // On a busy machine the server may not have replied in time a moment ago.
        var status = try await gateway.run(["status"])
        while !status.text.contains("  shared         gw-a following at ") {
            try Task.checkCancellation()
            status = try await gateway.run(["status"])
        }
        #expect(status.text.contains("\n  node           gw-b, seen "), "\(status)")
        // Not later than the command's end.
        await origin.stop()
        let response = try await second.get("/news/1")
        #expect(response.contains("detail=offline"), "\(response)")
        #expect(try await !second.get("/other").contains("detail=offline"))
        let reply = try await gateway.post(#"{"select": {"tags": ["news"]}, "wait": "shared", "within": "1m"}"#)
        #expect(reply.status == 200 && reply.json["reached"] as? String == "shared", "\(reply.text)")
        #expect(reply.json["position"] is String && reply.json["nodes"] == nil && reply.json["sequence"] is Int)
    }

    private func behind(_ gateway: PurgedGateway, _ second: PurgedGateway) async throws {
        second.server.signal(SIGSTOP)
        let purge = try await gateway.purge(["--tag", "news", "--wait", "everywhere", "--within", "300ms"])
        #expect(purge.status == 2 && purge.text.contains("1 of 2 nodes have not applied it"), "\(purge)")
        #expect(purge.text.contains("\n  waiting  gw-b, seen "), "\(purge)")
        let reply = try await gateway.post(
            #"{"select": {"tags": ["news"]}, "wait": "everywhere", "within": "300ms"}"#,
            ["-H", "Idempotency-Key: one"]
        )
        #expect(reply.status == 202 && reply.json["reached"] as? String == "replicated", "\(reply.text)")
    }

    private func queued(_ gateway: PurgedGateway) async throws {
        let purge = try await gateway.purge(["--tag", "news", "--wait", "shared", "--within", "100ms"])
        #expect(purge.status == 2 && purge.text.contains("Not yet shared with other nodes."), "\(purge)")
        let asked = try await gateway.post(#"{"select": {"tags": ["news"]}, "wait": "shared", "within": "100ms"}"#)
        #expect(asked.status == 202 && asked.json["reached"] as? String == "queued", "\(asked.text)")
        // Clients that ask for nothing see the status that they always saw.
        let plain = try await gateway.post(#"{"select": {"tags": ["news"]}, "within": "100ms"}"#)
        #expect(plain.status == 200 && plain.json["reached"] as? String == "queued", "\(plain.text)")
        let status = try await gateway.run(["status"])
        #expect(status.lines.first?.contains("of this node wait") == true, "\(status)")
        let command = try await gateway.purge(["--tag", "news", "--within", "100ms"])
        #expect(command.status == 0, "\(command)")
    }

    @Test func aGatewayThatSharesNothingSaysSo() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let purge = try await gateway.purge(["--all", "--wait", "everywhere", "--format", "json"])
            #expect(purge.status == 0 && purge.error.contains("shares no purges"), "\(purge)")
            #expect(try purge.objects().first?["reached"] == nil)
            for (arguments, words) in [
                (["--wait", "all"], "'--wait <level>'"), (["--within", "2m"], "'--within' is '2m'"),
            ] {
                let wrong = try await gateway.purge(["--all"] + arguments)
                #expect(wrong.status == 64 && wrong.error.contains(words), "\(wrong)")
            }
        }
    }
}
