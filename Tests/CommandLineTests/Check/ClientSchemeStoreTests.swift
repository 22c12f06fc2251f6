import Foundation
import SampleOrigin
import Testing

/// Stored responses that no client finds after a change of listeners.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct ClientSchemeStoreTests {
    private static let tls =
        "{address: 127.0.0.1:0, tls: {certificates: [{name: main, chain: main.pem, key: main.key}]}}"

    private struct Site {
        let folder: PurgedGateway.Folder
        let origin: RunningOrigin

        /// Writes a file with these listeners and routes, and returns its path.
        func file(_ name: String, listen: [String], _ more: String = "") throws -> String {
            let path = "\(folder.path)/\(name).yaml"
            let text = """
                version: 1
                listen: [\(listen.joined(separator: ", "))]
                store: {path: s}
                routes:
                  - {match: {scheme: http}, path: /only, respond: {status: 404}}
                \(more)
                  - {origin: "\(origin.baseURL)"}

                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return path
        }
    }

    /// A store with one response, of a gateway whose only listener has TLS.
    private func withSite(_ body: (Site, _ old: String) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await ListenerTLSTests.make("main", in: folder.path)
                let site = Site(folder: folder, origin: origin)
                let old = try site.file("holdfast", listen: [Self.tls])
                try await PurgedGateway.with(folder) { gateway in
                    let outcome = try await gateway.run(["try", "https://a.test/x"])
                    #expect(outcome.status == 0, "\(outcome)")
                }
                try await body(site, old)
            }
        }
    }

    @Test func listenerWithoutTLSHidesStoredResponses() async throws {
        try await withSite { site, old in
            let new = try site.file("new", listen: [Self.tls, "{unix: try.sock}"])
            let check = try await Tool("holdfast").run("check", "--config", new, "--store", site.folder.store)
            #expect(check.text.contains("1 of 1 stored responses would get 504 offline: 1 for scheme"), "\(check)")
            #expect(check.text.contains("/x (scheme)") && check.text.contains("'listen', 'clients.trusted'"))

            let diff = ["rules", "diff", old, new, "--store", site.folder.store]
            let text = try await Tool("holdfast").run(arguments: diff)
            #expect(text.lines.first?.hasPrefix("1 of 1 stored responses change") == true, "\(text)")
            #expect(text.text.contains("  scheme ") && text.text.contains("scheme 1"), "\(text)")
            let json = try await Tool("holdfast").run(arguments: diff + ["--format", "json"])
            #expect(try json.objects().last?["schemes"] as? Int == 1, "\(json)")
            let back = try await Tool("holdfast").run("rules", "diff", new, old, "--store", site.folder.store)
            #expect(back.text.hasPrefix("0 of 1 stored responses change"), "\(back)")
        }
    }

    /// A response of a forward proxy is stored without a scheme, and its clients find it, even if
    /// another route leads to the same target.
    @Test(arguments: [false, true])
    func responsesOfAForwardProxyAreServedOffline(isOfRoute: Bool) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await ListenerTLSTests.make("main", in: folder.path)
                let elsewhere = isOfRoute ? "\(origin.baseURL)" : "http://192.0.2.1"
                let port = try #require(URL(string: "\(origin.baseURL)")?.port)
                func write(listen: String, to path: String) throws {
                    let text = """
                        version: 1
                        listen: [\(listen)]
                        store: {path: s}
                        routes: [{name: own, host: a.test, origin: "\(elsewhere)"}]
                        forward-proxy: {hosts: [127.0.0.1], addresses: [127.0.0.1], ports: [\(port)]}

                        """
                    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                }
                let old = "\(folder.path)/old.yaml"
                try write(listen: "127.0.0.1:0", to: old)
                try write(listen: "127.0.0.1:0, \(Self.tls)", to: folder.file)
                try await PurgedGateway.with(folder) { gateway in
                    let proxy = ["--noproxy", "", "--proxy", "http://127.0.0.1:\(gateway.server.port)"]
                    let reply = try await folder.fetch("\(origin.baseURL)/x", proxy)
                    #expect(reply.status == 200 && reply.text == "v1", "\(reply)")
                }
                let check = try await Tool("holdfast").run("check", "--config", folder.file, "--store", folder.store)
                #expect(
                    check.text.contains("forward-proxy, http: none of 1 stored responses would get 504 offline"),
                    "\(check)"
                )
                #expect(!check.text.contains("for scheme"), "\(check)")
                let diff = try await Tool("holdfast").run("rules", "diff", old, folder.file, "--store", folder.store)
                #expect(diff.status == 0 && !diff.text.contains("scheme"), "\(diff)")
            }
        }
    }

    /// A port that only redirects, and a rule that says that schemes make no difference.
    @Test(arguments: [
        ("  - {match: {scheme: http}, respond: {status: 301, location: \"https://a.test{path}\"}}", ""),
        ("", "rules: [{ignore: {fields: [X-Forwarded-Proto]}}]"),
    ])
    func storeIsNotSplitWithoutNeed(routes: String, rules: String) async throws {
        try await withSite { site, old in
            let new = try site.file("new", listen: [Self.tls, "{unix: try.sock}"], routes)
            let file = URL(fileURLWithPath: new)
            try (Data(contentsOf: file) + Data(rules.utf8)).write(to: file)
            let check = try await Tool("holdfast").run("check", "--config", new, "--store", site.folder.store)
            #expect(check.text.contains("none of 1 stored responses would get 504 offline"), "\(check)")
            let diff = try await Tool("holdfast").run("rules", "diff", old, new, "--store", site.folder.store)
            #expect(diff.status == 0 && !diff.text.contains("scheme"), "\(diff)")
        }
    }
}
