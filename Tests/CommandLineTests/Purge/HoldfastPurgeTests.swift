import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Purges of a running gateway and of a closed store, with the built command and with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastPurgeTests {
    typealias Target = PurgedGateway.Target

    private static let targets = [
        Target(path: "/news/1"), Target(path: "/news/2?page=1"), Target(path: "/other"),
        Target(path: "/other", host: "b.test"),
    ]

    /// The selectors, as arguments and as JSON, and the targets that they select. `~` stands for
    /// the origin's URL.
    struct Selector: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var json: String
        var selected: [Target]
        var testDescription: String { arguments[0] }

        func inserting(_ origin: RunningOrigin) -> Selector {
            var copy = self
            copy.arguments = arguments.map { $0.replacing("~", with: origin.baseURL) }
            copy.json = json.replacing("~", with: origin.baseURL)
            return copy
        }
    }

    private static let selectors = [
        Selector(arguments: ["~/news/1"], json: #"{"urls": ["~/news/1"]}"#, selected: [targets[0]]),
        Selector(arguments: ["--tag", "news"], json: #"{"tags": ["news"]}"#, selected: Array(targets[..<2])),
        Selector(arguments: ["--prefix", "~/news/2"], json: #"{"prefixes": ["~/news/2"]}"#, selected: [targets[1]]),
        Selector(arguments: ["--host", "B.test"], json: #"{"hosts": ["B.test"]}"#, selected: [targets[3]]),
        Selector(arguments: ["--all"], json: #"{"all": true}"#, selected: targets),
        Selector(
            arguments: ["~/news/1", "--tag", "news", "--host", "b.test"],
            json: #"{"urls": ["~/news/1"], "tags": ["news"], "hosts": ["b.test"]}"#,
            selected: targets.filter { $0 != targets[2] }
        ),
    ]

    /// A gateway stores the bytes that its client sent, whether or not a URL may have them.
    @Test func findsBytesThatNoURLMayHave() async throws {
        let paths = ["/news/1?x={1}|^", "/news/2?p=50%", "/news/3?q=%7B1%7D", "/news/4?q={1}"]
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm(paths.map { Target(path: $0) })
            for path in paths {
                let url = origin.baseURL + path
                let text = try #require(url.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                let listed =
                    try await gateway.curl("/v1/responses?prefix=\(text)").json["responses"] as? [[String: Any]]
                #expect(listed?.map { $0["url"] as? String } == [url], "\(path)")
                let explained = try await gateway.curl("/v1/explain?url=\(text)").json["explanation"] as? [String: Any]
                #expect((explained?["variants"] as? [Any])?.count == 1, "\(path)")
                for arguments in [[url], ["--prefix", url]] {
                    let outcome = try await gateway.purge(arguments + ["--dry-run", "--format", "json"])
                    let matched = try #require(try outcome.objects().first)["matched"] as? [String: Any]
                    #expect(matched?["responses"] as? Int == 1, "\(arguments)")
                }
                #expect(try await gateway.purge([url, "--remove"]).status == 0)
            }
            let left = try await gateway.curl("/v1/responses").json["responses"] as? [Any]
            #expect(left?.isEmpty == true)
        }
    }

    @Test(arguments: selectors) func expiresWhatIsSelectedAndKeepsItForOffline(_ selector: Selector) async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let selector = selector.inserting(origin)
            try await gateway.warm(Self.targets)
            let dryRun = try await gateway.purge(selector.arguments + ["--dry-run", "--format", "json"])
            #expect(dryRun.status == 0, "\(dryRun.error)")
            let expected = try #require(try dryRun.objects().first)
            #expect(expected["sequence"] == nil && expected["dryRun"] as? Bool == true)
            // It changed nothing.
            try await gateway.warm(Self.targets)

            let purge = try await gateway.purge(selector.arguments + ["--format", "json"])
            #expect(purge.status == 0, "\(purge.error)")
            let done = try #require(try purge.objects().first)
            #expect(done["matched"] as? NSDictionary == expected["matched"] as? NSDictionary)
            #expect((done["matched"] as? [String: Any])?["responses"] as? Int == selector.selected.count)
            #expect((done["sequence"] as? Int ?? 0) > 0 && done["action"] as? String == "expire")
            await origin.stop()
            for target in Self.targets {
                let response = try await gateway.get(target.path, host: target.host)
                let isPurged = selector.selected.contains(target)
                #expect(response.hasPrefix("HTTP/1.1 200 ") && response.hasSuffix("v1"), "\(target) \(response)")
                #expect(response.contains("detail=unreachable") == isPurged, "\(target) \(response)")
            }
            // Expired responses are only offline copies now.
            let again = try await gateway.post(#"{"select": \#(selector.json), "dryRun": true}"#)
            #expect(again.matched["onlyOfflineCopies"] as? Int == selector.selected.count)
        }
    }

    @Test(arguments: selectors) func removesWhatIsSelected(_ selector: Selector) async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let selector = selector.inserting(origin)
            try await gateway.warm(Self.targets)
            let dryRun = try await gateway.post(#"{"select": \#(selector.json), "action": "remove", "dryRun": true}"#)
            let purge = try await gateway.post(#"{"select": \#(selector.json), "action": "remove", "reason": "test"}"#)
            #expect(purge.status == 200 && dryRun.status == 200, "\(purge.text)")
            #expect(purge.matched as NSDictionary == dryRun.matched as NSDictionary)
            #expect(purge.matched["responses"] as? Int == selector.selected.count, "\(purge.text)")
            #expect(purge.matched["exact"] as? Bool == true && purge.matched["bytes"] as? Int ?? 0 > 0)
            await origin.stop()
            for target in Self.targets {
                let response = try await gateway.get(target.path, host: target.host)
                let isPurged = selector.selected.contains(target)
                #expect(response.hasPrefix("HTTP/1.1 200 ") != isPurged, "\(target) \(response)")
            }
            let history = try await gateway.curl("/v1/purges?after=0")
            let purges = try #require(history.json["purges"] as? [[String: Any]])
            #expect(purges.count == 1 && history.json["more"] as? Bool == false)
            #expect(purges[0]["reason"] as? String == "test")
            #expect(purges[0]["sequence"] as? Int == purge.json["sequence"] as? Int)
            #expect(purges[0]["by"] as? String == "uid \(getuid())")
        }
    }

    /// Clients and operators know the gateway's URLs.
    @Test func takesTheURLThatClientsRequest() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm(Self.targets)
            let url = "http://a.test:\(gateway.server.port)/news/1"
            let command = try await gateway.purge([url, "--format", "json"])
            let matched = try #require(try command.objects().first)["matched"] as? [String: Any]
            #expect(matched?["responses"] as? Int == 1, "\(command)")
            let prefix = try await gateway.post(#"{"select": {"prefixes": ["http://a.test/news/"]}}"#)
            // The response that the command expired is kept for outages.
            #expect(prefix.status == 200 && prefix.matched["responses"] as? Int == 2, "\(prefix.text)")
            for (pattern, prefix) in [
                (url + "/.*", url + "/"), ("http://a.test/news/*", "http://a.test/news/"),
                ("http://a.test/**", "http://a.test/"),
            ] {
                let refused = try await gateway.post(#"{"select": {"urls": ["\#(pattern)"]}}"#)
                #expect(refused.status == 400 && refused.text.contains("is a pattern"), "\(refused.text)")
                #expect(refused.text.contains("use 'select.prefixes: \(prefix)'"), "\(refused.text)")
                let command = try await gateway.purge([pattern])
                #expect(command.status == 64 && command.error.contains("use '--prefix \(prefix)'."), "\(command)")
            }
        }
    }

    @Test func purgeIsInForceOnThirtyConnectionsToSeveralLoops() async throws {
        try await PurgedGateway.withOrigin(["--threads", "4"]) { gateway, origin in
            let connections = try (0..<30).map { _ in try gateway.server.connect() }
            // The third hit comes from the loop's own table.
            for _ in 0..<4 {
                for connection in connections {
                    connection.get("/news/1")
                    #expect(await connection.read(until: "v1").hasSuffix("v1"))
                }
            }
            origin.respond("v2")
            for connection in connections {
                connection.get("/news/1")
                #expect(await connection.read(until: "v1").contains("Cache-Status: holdfast; hit; ttl="))
            }
            #expect(try await gateway.post(#"{"select": {"tags": ["news"]}}"#).status == 200)
            for connection in connections { connection.get("/news/1") }
            for connection in connections {
                let response = await connection.read { $0.hasSuffix("v1") || $0.hasSuffix("v2") }
                #expect(response.hasSuffix("v2"), "\(response)")
            }
        }
    }

    @Test(arguments: ["expire", "remove"]) func outlastsAKilledGateway(_ action: String) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                let ending = try await PurgedGateway.with(folder, signal: SIGKILL) { gateway in
                    try await gateway.warm(Self.targets)
                    let json = #"{"select": {"tags": ["news"], "hosts": ["b.test"]}, "action": "\#(action)"}"#
                    #expect(try await gateway.post(json).matched["responses"] as? Int == 3)
                }
                #expect(ending.wasKilled)
                // The socket of the killed process is in the way, and is replaced.
                #expect(FileManager.default.fileExists(atPath: folder.socket))
                await origin.stop()
                try await PurgedGateway.with(folder) { gateway in
                    for target in Self.targets where target != Target(path: "/other") {
                        let response = try await gateway.get(target.path, host: target.host)
                        #expect(
                            response.contains("detail=unreachable") && response.hasSuffix("v1") == (action == "expire")
                        )
                    }
                    #expect(try await gateway.get("/other").contains("; hit; ttl="))
                }
                #expect(!FileManager.default.fileExists(atPath: folder.socket))
            }
        }
    }

    @Test func purgesAStoreThatNoProcessHasOpen() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                try await PurgedGateway.with(folder) { try await $0.warm(Self.targets) }
                let dryRun = try await folder.purge(["--tag", "news", "--remove", "--dry-run"])
                #expect(dryRun.status == 0 && dryRun.text.hasPrefix("Would remove 2 responses, "), "\(dryRun)")
                let purge = try await folder.purge(["--tag", "news", "--remove"])
                #expect(purge.text.hasPrefix("Removed 2 responses, "), "\(purge)")
                // The gateway that should have been purged may have another store.
                let words = "No process has the store '\(folder.store)' open, so no running gateway was purged."
                #expect(purge.error.hasPrefix(words) && !dryRun.error.contains(words), "\(purge)")
                #expect(purge.text.contains("0 of them only offline copies. Sequence "))
                let again = try await folder.purge(["--tag", "news"])
                #expect(again.status == 0 && again.text.hasPrefix("Expired 0 responses, 0 B"))
                #expect(again.error.contains("cache-dump list"))
                #expect(!FileManager.default.fileExists(atPath: folder.socket))
            }
        }
    }

    /// Mutant: `purges-hint-at-no-preserved-host`.
    @Test func saysWhereResponsesOfAPreservedHostAreStored() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes: [{origin: "\(origin.baseURL)", preserve-host: true}]
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                origin.respond("v1")
                try await PurgedGateway.with(folder) { gateway in
                    try await gateway.warm([.init(path: "/a")])
                    let hint = "its responses are stored under the hosts that clients request."
                    for (arguments, isHinted) in [
                        (["\(origin.baseURL)/a"], true), (["--prefix", "\(origin.baseURL)/"], true),
                        (["http://a.test/a"], false),
                    ] {
                        let purge = try await Tool("holdfast").run(
                            arguments: ["purge", "--config", folder.file] + arguments,
                            environment: ["RUNTIME_DIRECTORY": ""]
                        )
                        #expect(purge.error.contains(hint) == isHinted, "\(arguments) \(purge)")
                        #expect(purge.text.hasPrefix("Expired 1 response, ") != isHinted, "\(arguments) \(purge)")
                    }
                }
            }
        }
    }

    /// One parameter has the name of a secret, which messages hide, and a rule ignores the other.
    @Test func findsURLsWithSecretNamesAndIgnoredParameters() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes: [{origin: "\(origin.baseURL)"}]
                    rules: [{ignore: {parameters: ["utm_*"]}}]
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                origin.respond("v1")
                let paths = ["/a?code=DE", "/p?utm_id=1"]
                @Sendable func expectOneEach() async throws {
                    for url in paths.flatMap({ ["http://a.test" + $0, origin.baseURL + $0] }) {
                        let outcome = try await Tool("holdfast").run(
                            arguments: ["purge", url, "--dry-run", "--format", "json", "--config", folder.file],
                            environment: ["RUNTIME_DIRECTORY": ""]
                        )
                        let matched = try outcome.objects().first?["matched"] as? [String: Any]
                        #expect(matched?["responses"] as? Int == 1, "\(url): \(outcome)")
                    }
                }
                try await PurgedGateway.with(folder) { gateway in
                    try await gateway.warm(paths.map { .init(path: $0) })
                    try await expectOneEach()
                }
                // No process has the store open now.
                try await expectOneEach()
                let nothing = try await Tool("holdfast").run(
                    arguments: ["purge", "http://a.test/b?code=DE", "--dry-run", "--config", folder.file],
                    environment: ["RUNTIME_DIRECTORY": ""]
                )
                let place = "Looked for '\(origin.baseURL)/b?code=REDACTED'."
                #expect(nothing.error.contains("Nothing matched. " + place), "\(nothing)")
            }
        }
    }

    /// The path of a route is replaced, so its prefix may cover more than the route's path.
    @Test func namesWhatAClientsPrefixCovers() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    store: {path: s}
                    routes:
                      - {name: shop, path: /shop, origin: "\(origin.baseURL)"}
                      - {name: site, origin: "\(origin.baseURL)"}
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                origin.respond("v1")
                // Clients' URLs are found by the file's routes.
                @Sendable func purge(_ arguments: String...) async throws -> Tool.Outcome {
                    try await Tool("holdfast").run(
                        arguments: ["purge"] + arguments + ["--config", folder.file],
                        environment: ["RUNTIME_DIRECTORY": ""]
                    )
                }
                try await PurgedGateway.with(folder) { gateway in
                    try await gateway.warm([.init(path: "/a"), .init(path: "/shop/b")])
                    let covers = "Covers every response below '\(origin.baseURL)/' (routes 'shop', 'site')."
                    let dryRun = try await purge("--prefix", "http://a.test/shop/", "--dry-run")
                    #expect(
                        dryRun.text.hasPrefix("Would expire 2 responses, ") && dryRun.text.contains(covers),
                        "\(dryRun)"
                    )
                    let purged = try await purge("--prefix", "http://a.test/shop/")
                    #expect(purged.text.hasPrefix("Expired 2 responses, ") && purged.text.contains(covers), "\(purged)")
                    let line = await gateway.server.log.line(containing: "purge.covers=")
                    #expect(line.contains("routes 'shop', 'site'"), "\(line)")
                    let plain = try await purge("--tag", "none", "--dry-run")
                    #expect(!plain.text.contains("Covers"), "\(plain)")
                }
            }
        }
    }

    @Test func purgesConcurrentlyOnThirtyConnections() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([Target(path: "/news/1")])
            let replies = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                for number in 0..<30 {
                    group.addTask {
                        let reply = try await gateway.post(#"{"select": {"tags": ["t\#(number)"]}}"#)
                        return (reply.status, reply.json["sequence"] as? Int ?? -1)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.allSatisfy { $0.0 == 200 } && Set(replies.map(\.1)).count == 30)
            let history = try await gateway.curl("/v1/purges?limit=20")
            #expect((history.json["purges"] as? [Any])?.count == 20 && history.json["more"] as? Bool == true)
        }
    }

    @Test func copyOfAFolderIsPurgedAndNotItsOriginal() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([Target(path: "/news/1")])
            let copy = PurgedGateway.Folder(path: gateway.folder.path + "/copy")
            try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: false)
            let tool = try await Tool.run(
                URL(fileURLWithPath: "/bin/cp"),
                ["-a", gateway.folder.store, copy.store]
            )
            try #require(tool.status == 0, "\(tool.error)")
            // A link in the copy leads to the socket of the gateway, which has another store.
            try? FileManager.default.removeItem(atPath: copy.socket)
            try FileManager.default.createSymbolicLink(
                atPath: copy.socket,
                withDestinationPath: gateway.folder.socket
            )
            let purge = try await copy.purge(["--all", "--remove"])
            #expect(purge.status == 0 && purge.text.hasPrefix("Removed 1 response, "), "\(purge)")
            #expect(try await gateway.get("/news/1").contains("; hit; ttl="))
            #expect((try await gateway.curl("/v1/purges").json["purges"] as? [Any])?.isEmpty == true)
        }
    }

    /// The gateway would not notice a purge of the other store. Mutant: the folder is not locked.
    @Test func storeThatReplacedTheGatewaysIsNotPurged() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([Target(path: "/news/1")])
            let (store, moved) = (gateway.folder.store, gateway.folder.path + "/moved")
            try FileManager.default.moveItem(atPath: store, toPath: moved)
            try await SampleStore.fill(store, responses: 8, tag: "old")
            _ = await gateway.server.log.line(containing: "restart to use it")
            for arguments in [["--all"], ["--all", "--remove"], ["--tag", "old"]] {
                let purge = try await gateway.purge(arguments)
                #expect(purge.status == 1 && purge.error.contains("is open for writing in"), "\(purge)")
            }
            #expect(try await gateway.get("/news/1").contains("; hit; ttl="))
            let socket = ["--unix-socket", moved + "/control.sock"]
            let status = try await gateway.folder.fetch("http://localhost/v1/status", socket)
            #expect(status.json["storeCondition"] as? String == "replaced", "\(status.text)")
            #expect((status.json["summary"] as? String)?.contains("replaced") == true)
            let ready = try await gateway.folder.fetch("http://localhost/readyz", socket)
            #expect(ready.status == 200 && ready.json["status"] as? String == "degraded")
        }
    }

    @Test func largeClosedStoreIsPurgedWithAnEstimate() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("large.store").path
            try await SampleStore.fill(path, responses: 10_400, tag: "t")
            let dryRun = try await Tool("holdfast").run("purge", "--tag", "t", "--dry-run", "--store", path)
            #expect(dryRun.text.hasPrefix("Would expire 10400 responses, "), "\(dryRun)")
            let purge = try await Tool("holdfast").run("purge", "--tag", "t", "--remove", "--store", path)
            #expect(purge.text.hasPrefix("Removed about 10400 responses, "), "\(purge)")
            let rest = try await Tool("holdfast").run("purge", "--all", "--dry-run", "--store", path)
            #expect(rest.text.hasPrefix("Would expire 0 responses, "), "\(rest)")
        }
    }

    @Test(arguments: [("n\n", [], 1), ("\n", [], 1), ("yes\n", [], 0), ("", ["--yes"], 0), ("", ["--dry-run"], 0)])
    func removalAsksOnATerminal(_ answer: String, _ options: [String], _ status: Int32) async throws {
        try await SampleStore.withClosed { path in
            let arguments = ["purge", "--all", "--remove", "--store", path] + options
            let (outcome, shown) = try await Terminal.run(try Tool("holdfast").url, arguments, typing: answer)
            #expect(outcome.status == status, "\(shown)")
            #expect(shown.contains("[y/N]") == options.isEmpty)
            #expect(shown.contains("Nothing was removed") == (status == 1), "\(shown)")
            let rest = try await Tool("holdfast").run("purge", "--all", "--dry-run", "--store", path)
            let isRemoved = status == 0 && options != ["--dry-run"]
            #expect(rest.text.hasPrefix("Would expire 0 ") == isRemoved, "\(rest)")
        }
    }

    @Test func wrongCommandLinesAndMissingStoresAreErrors() async throws {
        try await PurgedGateway.Folder.with { folder in
            for (arguments, status, text) in [
                ([], 64, "Nothing is selected. Give URLs"), (["--all", "--tag", "a"], 64, "without other selectors"),
                (["ftp://a.example/"], 64, "ftp://a.example/"), (["https://a.example/", "x"], 64, "URL 2: "),
                (["--host", "a.example:80"], 64, "no scheme, port or path"),
                (["--host", "a.example:80"], 64, "'--host' number 1"),
                (["--tag", "a", "--tag", ""], 64, "'--tag' number 2 has 0 bytes"),
                (["--all", "--reason", "a\tb"], 64, "'--reason' has a control character"),
                (["--tag", "a", "--dry-run", "--wait", "everywhere"], 64, "cannot be combined with '--dry-run'"),
                (["--prefix", "/v1"], 64, "/v1"), (["--tag", "a"], 1, "it does not exist"),
            ] {
                let outcome = try await folder.purge(arguments)
                #expect(outcome.status == status && outcome.error.contains(text), "\(arguments) \(outcome)")
            }
            #expect(!FileManager.default.fileExists(atPath: folder.store), "a purge creates no store")
        }
    }

    @Test func gatewayWithoutControlPlaneIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                _ = try await RunningServer.with(["--config", folder.file, "--no-control"]) { server in
                    let purge = try await folder.purge(["--all"])
                    #expect(purge.status == 1 && purge.error.contains("--no-control"), "\(purge)")
                    #expect(!FileManager.default.fileExists(atPath: folder.socket))
                    server.signal(SIGTERM)
                }
            }
        }
    }
}
