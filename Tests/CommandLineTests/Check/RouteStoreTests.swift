import Foundation
import SampleOrigin
import Testing

/// Stored responses that no client finds after a change of routes.
@Suite(.timeLimit(.minutes(20)))
struct RouteStoreTests {
    private static func write(_ route: String, _ origin: RunningOrigin, to path: String) throws {
        let text = """
            version: 1
            listen: 127.0.0.1:0
            store: {path: s}
            routes:
              - {\(route.replacing("ORIGIN", with: "\(origin.baseURL)"))}

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test(
        arguments: [
            ("host: a.test, origin: \"ORIGIN\", preserve-host: true", true),
            ("host: a.test, origin: \"ORIGIN/v2\"", true), ("host: a.test, origin: \"http://192.0.2.1\"", true),
            // The key has the origin's host, whichever host clients request.
            ("host: b.test, origin: \"ORIGIN\"", false), ("path: /p, origin: \"ORIGIN\"", false),
        ]
    )
    func changedRouteHidesStoredResponses(_ route: String, isHidden: Bool) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try Self.write("host: a.test, origin: \"ORIGIN\"", origin, to: folder.file)
                try await PurgedGateway.with(folder) { gateway in
                    let outcome = try await gateway.run(["try", "http://a.test/x"])
                    #expect(outcome.status == 0, "\(outcome)")
                }
                let new = "\(folder.path)/new.yaml"
                try Self.write(route, origin, to: new)
                let check = try await Tool("holdfast").run("check", "--config", new, "--store", folder.store)
                let count = isHidden ? "1 of 1" : "none of 1"
                #expect(check.text.contains("\(count) stored responses would get 504 offline"), "\(check)")
                #expect(check.text.contains("/x (route)") == isHidden, "\(check)")

                let diff = ["rules", "diff", folder.file, new, "--store", folder.store]
                let text = try await Tool("holdfast").run(arguments: diff)
                #expect(text.text.hasPrefix("\(isHidden ? 1 : 0) of 1 stored responses change"), "\(text)")
                #expect(text.text.contains("  route ") == isHidden, "\(text)")
                let json = try await Tool("holdfast").run(arguments: diff + ["--format", "json"])
                #expect(try json.objects().last?["routes"] as? Int == (isHidden ? 1 : 0), "\(json)")
                let back = try await Tool("holdfast").run("rules", "diff", new, folder.file, "--store", folder.store)
                #expect(back.text.hasPrefix("0 of 1 stored responses change"), "\(back)")
            }
        }
    }
}
