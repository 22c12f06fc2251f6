import Foundation
import SampleOrigin
import Testing

/// Tags that an origin gives its responses, and purges by them, with the built command.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastTagsFromTests {
    private func withGateway(_ body: (PurgedGateway, RunningOrigin) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes: [{origin: "\(origin.baseURL)", tags-from: [surrogate-key, Cache-Tag]}]
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                respond("v1", origin)
                try await PurgedGateway.with(folder) { try await body($0, origin) }
            }
        }
    }

    private func respond(_ text: String, _ origin: RunningOrigin) {
        origin.behaveNormally()
        let fields = [("Cache-Control", "max-age=3600"), ("Surrogate-Key", "all news"), ("xkey", "seen")]
        origin.force(.respond(fields: fields, body: text), times: .max)
    }

    private func matched(_ tag: String, _ gateway: PurgedGateway) async throws -> Int? {
        let purge = try await gateway.purge(["--tag", tag, "--dry-run", "--format", "json"])
        #expect(purge.status == 0, "\(purge.error)")
        return (try purge.objects().first?["matched"] as? [String: Any])?["responses"] as? Int
    }

    @Test func purgeByATagOfTheOriginReachesItsResponses() async throws {
        try await withGateway { gateway, origin in
            try await gateway.warm([.init(path: "/1"), .init(path: "/2")])
            let hit = try await gateway.get("/1")
            #expect(!hit.lowercased().contains("surrogate-key") && hit.contains("xkey: seen"), "\(hit)")
            #expect(try await matched("seen", gateway) == 0)
            #expect(try await matched("all", gateway) == 2)
            respond("v2", origin)
            let purge = try await gateway.purge(["--tag", "news"])
            #expect(purge.status == 0, "\(purge.error)")
            for path in ["/1", "/2"] { #expect(try await gateway.get(path).hasSuffix("v2")) }
        }
    }

    /// A refresh comes by no route, so the route's setting must not depend on one.
    @Test func responsesThatARefreshFetchedKeepTheirTags() async throws {
        try await withGateway { gateway, origin in
            try await gateway.warm([.init(path: "/1"), .init(path: "/2")])
            respond("v2", origin)
            let purge = try await gateway.purge(["--tag", "news", "--refresh", "500/s"])
            #expect(purge.status == 0, "\(purge.error)")
            while true {
                let reply = try await gateway.curl("/v1/refreshes")
                let refreshes = try #require(reply.json["refreshes"] as? [[String: Any]], "\(reply.text)")
                if refreshes.first?["state"] as? String == "done" { break }
                try await Task.sleep(for: .milliseconds(20))  // lets time pass
            }
            #expect(try await matched("news", gateway) == 2)
            let hit = try await gateway.get("/1")
            #expect(hit.contains("Cache-Status: holdfast; hit") && hit.hasSuffix("v2"), "\(hit)")
            #expect(!hit.lowercased().contains("surrogate-key"))
        }
    }
}
