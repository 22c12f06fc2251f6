import Foundation
import SampleOrigin
import Testing

/// Purges whose responses a gateway fetches again, with the built command and with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct HoldfastRefreshTests {
    private static let targets = (1...3).map { PurgedGateway.Target(path: "/news/\($0)") }

    /// Waits until the last refresh has a state.
    private func refresh(_ gateway: PurgedGateway, in state: String) async throws -> [String: Any] {
        while true {
            let reply = try await gateway.curl("/v1/refreshes")
            let refreshes = try #require(reply.json["refreshes"] as? [[String: Any]], "\(reply.text)")
            if let first = refreshes.first, first["state"] as? String == state { return first }
            try await Task.sleep(for: .milliseconds(20))  // lets time pass
        }
    }

    @Test func purgedResponsesAreFetchedAgainBeforeAClientAsks() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm(Self.targets)
            origin.respond("v2")
            let dryRun = try await gateway.purge(["--tag", "news", "--refresh", "500/s", "--dry-run"])
            #expect(dryRun.text.contains("Would fetch up to 3 again."), "\(dryRun)")
            let purge = try await gateway.purge(["--tag", "news", "--refresh", "500/s"])
            #expect(purge.status == 0 && purge.text.contains("Fetching up to 3 again."), "\(purge)")
            let done = try await refresh(gateway, in: "done")
            #expect(done["requested"] as? Int == 3 && done["refreshed"] as? Int == 3, "\(done)")
            await origin.stop()
            for target in Self.targets {
                let response = try await gateway.get(target.path)
                #expect(
                    response.contains("Cache-Status: holdfast; hit; ttl=") && response.hasSuffix("v2"),
                    "\(response)"
                )
            }
        }
    }

    @Test func thirtyClientsSeeTheSameRefreshes() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm(Self.targets)
            #expect(try await gateway.purge(["--tag", "news", "--refresh", "500/s"]).status == 0)
            _ = try await refresh(gateway, in: "done")
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        let reply = try await gateway.curl("/v1/refreshes")
                        #expect(reply.status == 200, "\(reply.text)")
                        return reply.text
                    }
                }
                var seen: Set<String> = []
                for try await text in group { seen.insert(text) }
                #expect(seen.count == 1 && seen.first?.contains(#""refreshed":3"#) == true, "\(seen)")
            }
        }
    }

    @Test func shutdownSaysHowFarItGot() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            // At one a second it is far from its end when the signal comes.
            try await gateway.warm((1...40).map { PurgedGateway.Target(path: "/news/\($0)") })
            let json = #"{"select": {"tags": ["news"]}, "refresh": {"perSecond": 1, "atMost": 30}}"#
            let reply = try await gateway.post(json)
            #expect(reply.status == 200 && reply.json["refreshing"] as? Int == 30, "\(reply.text)")
            _ = try await refresh(gateway, in: "running")
            gateway.server.signal(SIGTERM)
            let line = await gateway.server.log.line(containing: "Refresh ended")
            #expect(line.contains("refresh.state=shut-down") && line.contains("refresh.requested="), "\(line)")
        }
    }

    @Test func refreshThatCannotBeIsRejectedBeforeAnythingIsPurged() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm(Self.targets)
            _ = try await gateway.run(["mode", "preferStored", "--for", "1h"])
            let json = #"{"select": {"tags": ["news"]}, "refresh": {"perSecond": 1}}"#
            let reply = try await gateway.post(json)
            #expect(reply.status == 409 && reply.json["field"] as? String == "refresh", "\(reply.text)")
            let command = try await gateway.purge(["--tag", "news", "--refresh", "1/s"])
            let advice = "Omit '--refresh', or run 'holdfast mode automatic'."
            #expect(command.status == 1 && command.error.contains(advice), "\(command)")
            #expect((try await gateway.curl("/v1/purges").json["purges"] as? [Any])?.isEmpty == true)
            for (arguments, text) in [
                (["--refresh", "20"], "20/s"), (["--refresh", "0/s"], "1/s"),
                (["--refresh-at-most", "5"], "--refresh"),
                (["--refresh", "20/s", "--remove"], "--remove"),
                (["--refresh", "1/s", "--refresh-at-most", "0"], "1 to"),
            ] {
                let outcome = try await gateway.purge(["--tag", "news"] + arguments)
                #expect(outcome.status == 64 && outcome.error.contains(text), "\(arguments) \(outcome)")
            }
        }
    }

    @Test func storeThatNoGatewayHasOpenIsNotRefreshed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                try await PurgedGateway.with(folder) { try await $0.warm(Self.targets) }
                let outcome = try await folder.purge(["--tag", "news", "--refresh", "20/s"])
                #expect(outcome.status == 1 && outcome.error.contains("running gateway"), "\(outcome)")
            }
        }
    }
}
