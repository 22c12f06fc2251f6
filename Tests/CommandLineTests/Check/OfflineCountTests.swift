import Foundation
import SampleOrigin
import Testing

/// Stored responses that get 504 offline under new rules and routes.
@Suite("Responses that are not served offline", .timeLimit(.minutes(20)))
struct OfflineCountTests {
    private static func write(_ origin: RunningOrigin, to path: String) throws {
        let text = """
            version: 1
            listen: 127.0.0.1:0
            store: {path: s}
            routes:
              - {path: /n, respond: {status: 404}}
              - {name: api, origin: "\(origin.baseURL)"}
            rules:
              - {match: {url: /b}, bypass: true}
              - {match: {url: /k}, ignore: {parameters: [utm]}}
              - {match: {url: /o}, stale: {offline: 0 s}}

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test func checkAndExplainRefuseTheSameResponses() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                try await PurgedGateway.with(folder) { gateway in
                    origin.respond("v1")
                    for path in ["/x", "/b", "/k?a=1&utm=2", "/o", "/n/y"] {
                        let outcome = try await gateway.run(["try", "http://a.test\(path)"])
                        #expect(outcome.status == 0, "\(outcome)")
                    }
                    origin.behaveNormally()
                    let missing = ForcedBehavior.respond(
                        status: 404,
                        fields: [("Cache-Control", "max-age=3600")],
                        body: "none"
                    )
                    origin.force(missing, times: .max)
                    _ = try await gateway.run(["try", "http://a.test/missing"])
                }
                let new = "\(folder.path)/new.yaml"
                try Self.write(origin, to: new)
                let check = ["check", "--config", new, "--store", folder.store]
                let text = try await Tool("holdfast").run(arguments: check)
                let reasons = "1 for bypass, 1 for key, 1 for route, 1 for stale-error, 1 for stale.offline"
                #expect(
                    text.text.contains("api: 5 of 6 stored responses would get 504 offline: \(reasons)"),
                    "\(text)"
                )
                #expect(text.text.contains("    bypass: not looked up ('bypass'"), "\(text)")
                let json = try await Tool("holdfast").run(arguments: check + ["--format", "json"])
                let offline = try #require(json.objects().first?["offline"] as? [String: Any])
                let stored = (offline["routes"] as? [[String: Any]])?.first?["stored"] as? [String: Any]
                let counts = stored?["refusedBy"] as? [String: Int]
                #expect(counts == ["bypass": 1, "key": 1, "route": 1, "stale-error": 1, "stale.offline": 1])

                for path in ["/x", "/b", "/k?a=1&utm=2", "/o", "/missing"] {
                    let explanation = try await Tool("holdfast").run(
                        arguments: [
                            "explain", "\(origin.baseURL)\(path)", "--config", new, "--store", folder.store, "--at",
                            "+2h", "--offline",
                        ]
                    )
                    let start = path == "/x" ? "Would be served from the store" : "Would fail with 504"
                    #expect(explanation.text.hasPrefix(start), "\(explanation)")
                }
            }
        }
    }
}
