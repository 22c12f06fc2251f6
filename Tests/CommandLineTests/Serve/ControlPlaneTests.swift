import Foundation
import SampleOrigin
import Testing

/// The control plane of the built gateway: who may use it, what it rejects, and its socket.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct ControlPlaneTests {
    private static let all = #"{"select": {"all": true}}"#

    @Test func browserRequestsNeitherChangeNorReadAnything() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([.init(path: "/news/1")])
            for (arguments, status, code) in [
                (["-H", "Host: rebound.example"], 421, "wrong-host"),
                (["-H", "Host: localhost.evil"], 421, "wrong-host"),
                (["-H", "Host: localhost:80@evil"], 421, "wrong-host"),
                (["-H", "Origin: http://localhost"], 403, "foreign-origin"),
                (["-H", "Origin: null"], 403, "foreign-origin"),
                (["-H", "Content-Type: text/plain"], 415, "not-json"), (["-H", "Content-Type:"], 415, "not-json"),
                (["-H", "Content-Type: text/plain; x=application/json"], 415, "not-json"),
                (["-H", "Content-Type: application/x-www-form-urlencoded"], 415, "not-json"),
            ] {
                let reply = try await gateway.post(Self.all, arguments)
                #expect(reply.status == status, "\(arguments) \(reply.text)")
                #expect(reply.json["type"] as? String == "urn:holdfast:problem:\(code)", "\(arguments)")
                #expect(reply.json["field"] != nil && reply.json["sequence"] == nil)
            }
            for path in ["/v1/purges", "/healthz", "/livez"] {
                #expect(try await gateway.curl(path, ["-H", "Origin: http://a.example"]).status == 403)
                #expect(try await gateway.curl(path, ["-H", "Host: a.example"]).status == 421)
            }
            let preflight = ["-X", "OPTIONS", "-i", "-H", "Access-Control-Request-Method: POST"]
            let reply = try await gateway.curl("/v1/purges", preflight)
            #expect(reply.status == 405 && !reply.text.lowercased().contains("access-control"))
            #expect(try await gateway.curl("/v1/purges", ["-H", "Host: LOCALHOST:8080"]).status == 200)
            #expect(try await gateway.get("/news/1").contains("; hit; ttl="))
        }
    }

    @Test func problemNamesFieldValueLimitAndRemedyOfBadInput() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([.init(path: "/news/1")])
            let many = (0...1000).map { "\"\($0)\"" }.joined(separator: ",")
            let cases: [(json: String, status: Int, field: String?, texts: [String])] = [
                ("", 400, nil, ["not JSON", "select"]), ("[]", 400, nil, ["object"]), ("{", 400, nil, ["not JSON"]),
                ("{}", 400, "select", ["missing"]), (#"{"select": {}}"#, 400, "select", ["no selectors", "tags"]),
                (#"{"select": 3}"#, 400, "select", ["3", "object"]),
                (#"{"select": {"tags": "a"}}"#, 400, "select.tags", ["a", "list"]),
                (#"{"select": {"tags": ["a", 1]}}"#, 400, "select.tags[1]", ["1.0", "text"]),
                (#"{"select": {"tags": [""]}}"#, 400, "select.tags[0]", ["1 to 1024"]),
                (#"{"select": {"tagz": ["a"]}}"#, 400, "select.tagz", ["'tags'"]),
                (#"{"select": {"urls": ["a.example/x"]}}"#, 400, "select.urls[0]", ["a.example/x", "absolute"]),
                (#"{"select": {"prefixes": ["https://"]}}"#, 400, "select.prefixes[0]", ["https://"]),
                (#"{"select": {"hosts": ["a.example:1"]}}"#, 400, "select.hosts[0]", ["prefix"]),
                (#"{"select": {"all": true, "tags": ["a"]}}"#, 400, "select.all", ["Remove the other selectors"]),
                (#"{"select": {"all": "yes"}}"#, 400, "select.all", ["yes", "true"]),
                (#"{"select": {"all": true}, "action": "delete"}"#, 400, "action", ["delete", "remove"]),
                (#"{"select": {"all": true}, "dryrun": true}"#, 400, "dryrun", ["'dryRun'"]),
                (#"{"select": {"all": true}, "reason": "a\nb"}"#, 400, "reason", ["control character"]),
                (#"{"select": {"tags": [\#(many)]}}"#, 400, "select", ["1001", "1000"]),
            ]
            for (json, status, field, texts) in cases {
                let reply = try await gateway.post(json)
                let isNamed = reply.json["field"] as? String == field
                #expect(reply.status == status && isNamed, "\(json.prefix(80)) \(reply.text)")
                let detail = reply.json["detail"] as? String ?? ""
                for text in texts { #expect(detail.contains(text), "\(json.prefix(80)) \(detail)") }
            }
            for (query, field) in [("after=x", "after"), ("limit=0", "limit"), ("a=1", "a")] {
                let reply = try await gateway.curl("/v1/purges?" + query)
                #expect(reply.status == 400 && reply.json["field"] as? String == field, "\(reply.text)")
            }
            // A dry run that is asked for in the wrong place is no purge.
            let misplaced = ["--json", Self.all, "-H", "Accept: */*"]
            let query = try await gateway.curl("/v1/purges?dryRun=true", misplaced)
            #expect(query.status == 400 && query.json["field"] as? String == "dryRun", "\(query.text)")
            #expect(try await gateway.curl("/v1/nothing").status == 404)
            #expect(try await gateway.get("/news/1").contains("; hit; ttl="))
        }
    }

    @Test func rejectsMoreThanOneMebibyte() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let file = gateway.folder.path + "/large.json"
            try Data(repeating: UInt8(ascii: " "), count: 1 << 20 + 1).write(to: URL(fileURLWithPath: file))
            let reply = try await gateway.curl("/v1/purges", ["--json", "@" + file, "-H", "Accept: */*"])
            #expect(reply.status == 413 && reply.json["limit"] as? Int == 1 << 20, "\(reply.text)")
        }
    }

    @Test func repeatedRequestIsPerformedOnce() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let key = ["-H", "Idempotency-Key: deploy-412"]
            let first = try await gateway.post(Self.all, key)
            let second = try await gateway.post(Self.all, key)
            #expect(first.status == 200 && second.text == first.text)
            let other = try await gateway.post(#"{"select": {"tags": ["a"]}}"#, key)
            #expect(other.status == 422 && other.json["field"] as? String == "Idempotency-Key")
            #expect(try await gateway.post(Self.all).json["sequence"] as? Int != first.json["sequence"] as? Int)
            #expect((try await gateway.curl("/v1/purges").json["purges"] as? [Any])?.count == 2)
        }
    }

    @Test func staysReadyWhenEveryOriginIsUnreachable() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm([.init(path: "/news/1")])
            let before = try await gateway.curl("/readyz")
            #expect(before.status == 200 && before.json["status"] as? String == "ok", "\(before.text)")
            await origin.stop()
            for number in 0..<12 { _ = try await gateway.get("/missing/\(number)") }
            let reply = try await gateway.curl("/readyz")
            #expect(reply.status == 200 && reply.json["status"] as? String == "degraded", "\(reply.text)")
            #expect(reply.text.contains(origin.authority))
            #expect(try await gateway.curl("/livez").status == 200)
            #expect(try await gateway.curl("/healthz").text.contains("event loop"))
        }
        try await PurgedGateway.withOrigin(["--mode", "offline"]) { gateway, _ in
            let reply = try await gateway.curl("/readyz")
            #expect(reply.status == 200 && reply.json["status"] as? String == "degraded", "\(reply.text)")
        }
    }

    @Test func socketIsForOwnerAndGroupAlone() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let attributes = try FileManager.default.attributesOfItem(atPath: gateway.folder.socket)
            #expect(attributes[.posixPermissions] as? Int == 0o660)
        }
    }

    @Test func liveSocketIsNotTakenOver() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let other = gateway.folder.path + "/other"
            let more = ["--config", gateway.folder.file, "--store", other, "--listen", "127.0.0.1:0"]
            let file = try String(contentsOfFile: gateway.folder.file, encoding: .utf8)
            try Data((file + "\ncontrol: {socket: s/control.sock}").utf8)
                .write(to: URL(fileURLWithPath: gateway.folder.file))
            let second = try await Tool("holdfast").run(arguments: ["serve"] + more)
            #expect(second.status == 1 && second.error.contains("Another process is listening"), "\(second)")
            #expect(try await gateway.post(Self.all).status == 200)
        }
    }

    @Test func socketElsewhereIsFoundThroughTheStore() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                let run = folder.path + "/run"
                try FileManager.default.createDirectory(atPath: run, withIntermediateDirectories: true)
                try await PurgedGateway.with(folder, environment: ["RUNTIME_DIRECTORY": run]) { gateway in
                    try await gateway.warm([.init(path: "/news/1")])
                    #expect(FileManager.default.fileExists(atPath: run + "/control.sock"))
                    #expect(try await gateway.purge(["--all"]).text.hasPrefix("Expired 1 response, "))
                    let direct = ["purge", "--all", "--socket", run + "/control.sock"]
                    #expect(try await Tool("holdfast").run(arguments: direct).status == 0)
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: run).isEmpty)
                #expect(try !FileManager.default.contentsOfDirectory(atPath: folder.store).contains("control.sock"))
            }
        }
    }

    @Test func pathThatIsTooLongIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                let long = folder.path + "/" + String(repeating: "a", count: 120)
                // By default the gateway serves all the same.
                _ = try await RunningServer.with(
                    ["--config", folder.file, "--store", long],
                    environment: ["RUNTIME_DIRECTORY": ""]
                ) { server in
                    let line = await server.log.line(containing: "Control plane is not available")
                    #expect(line.contains("control.socket") && line.contains("RUNTIME_DIRECTORY"), "\(line)")
                    let response = try await ServerProcess.get("/moments?userID=harbour", at: server.port)
                    #expect(response.hasPrefix("HTTP/1.1 200"))
                    server.signal(SIGTERM)
                }
                try folder.write(origin, "control: {socket: \(long)}")
                let named = try await Tool("holdfast").run(arguments: ["serve", "--config", folder.file])
                #expect(named.status == 1 && named.error.contains("the system's limit is"), "\(named)")
            }
        }
    }
}
