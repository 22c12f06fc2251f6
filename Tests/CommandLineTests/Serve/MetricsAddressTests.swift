import Foundation
import SampleOrigin
import TestSupport
import Testing

/// `metrics.listen` of the built gateway, as other machines reach it: by address, with a token and
/// with TLS.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct MetricsAddressTests {
    /// Runs a gateway with the settings of `metrics`.
    ///
    /// - Parameters:
    ///   - prepare: writes the first files into the folder `volume`.
    ///   - body: gets the gateway, its folder, and the port for metrics.
    private func withGateway(
        _ settings: String,
        prepare: (PurgedGateway.Folder, SecretVolume) async throws -> Void = { _, _ in },
        _ body: (RunningServer, PurgedGateway.Folder, SecretVolume, Int) async throws -> Void
    ) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let volume = try SecretVolume(at: folder.path + "/volume")
                try await prepare(folder, volume)
                try folder.write(origin, "metrics: {listen: '0.0.0.0:0', public: true\(settings)}")
                let arguments = ["--config", folder.file]
                let environment = ["RUNTIME_DIRECTORY": ""]
                let ending = try await RunningServer.with(arguments, environment: environment) { server in
                    let line = await server.log.line(containing: "metrics at")
                    let scheme = settings.contains("tls") ? "https" : "http"
                    let match = try #require(line.firstMatch(of: #/metrics at (https?)://0\.0\.0\.0:([0-9]+)/metrics/#))
                    #expect(match.1 == scheme)
                    try await body(server, folder, volume, try #require(Int(match.2)))
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0)
            }
        }
    }

    /// Prometheus in a cluster sends the pod's address. DNS rebinding needs a name.
    @Test func scrapersReachItByAnyAddressAndBrowsersByNoName() async throws {
        try await withGateway("") { _, folder, _, port in
            let url = "http://127.0.0.1:\(port)/metrics"
            for host in ["10.42.0.7:\(port)", "10.42.0.7", "[fd00::7]:\(port)", "localhost"] {
                let reply = try await folder.fetch(url, ["-H", "Host: \(host)"])
                #expect(reply.status == 200 && reply.text.contains("holdfast_exchanges_total{"), "\(host)")
            }
            for host in ["a.example", "a.example:\(port)", "10.42.0.7.a.example", "0.0.0.0:\(port)"] {
                let reply = try await folder.fetch(url, ["-H", "Host: \(host)"])
                #expect(reply.status == 421 && reply.text.contains("control.hosts"), "\(host)")
            }
            #expect(try await folder.fetch(url, ["-H", "Origin: http://10.42.0.7"]).status == 403)
            let status = "http://127.0.0.1:\(port)/v1/status"
            for host in ["127.0.0.1:\(port)", "10.42.0.7:\(port)"] {
                let reply = try await folder.fetch(status, ["-H", "Host: \(host)"])
                #expect(reply.status == 404 && reply.text.contains("control.listen"), "\(host): \(reply.text)")
            }
            #expect(try await folder.fetch(status, ["-H", "Host: a.example"]).status == 421)
        }
    }

    /// NIO ends the process if a part uses an event loop that has been shut down. Mutant: the
    /// control plane shuts its loop down.
    @Test func thirtyGatewaysStopCleanly() async throws {
        for _ in 0..<5 {
            try await withThrowingTaskGroup(of: Void.self) { gateways in
                for _ in 0..<6 {
                    gateways.addTask {
                        try await PurgedGateway.Folder.with { folder in
                            try await SampleOrigin.withOrigin { origin in
                                try folder.write(origin, "metrics: {listen: '127.0.0.1:0'}")
                                let environment = ["RUNTIME_DIRECTORY": "", "SWIFTNIO_STRICT": "1"]
                                let ending = try await RunningServer.with(
                                    ["--config", folder.file],
                                    environment: environment
                                ) { server in
                                    _ = await server.log.line(containing: "control.sock")
                                    server.signal(SIGINT)
                                }
                                #expect(ending.status == 0)
                            }
                        }
                    }
                }
                try await gateways.waitForAll()
            }
        }
    }

    @Test func tokenIsRequiredAndReplacedWhileItRuns() async throws {
        let (old, new) = (String(repeating: "a1", count: 32), String(repeating: "b2", count: 32))
        try await withGateway(", token: volume/token") { _, volume in
            try volume.publish(["token": old])
        } _: { server, folder, volume, port in
            @Sendable func status(_ token: String?) async throws -> Int {
                let field = token.map { ["-H", "Authorization: Bearer \($0)"] } ?? []
                return try await folder.fetch("http://127.0.0.1:\(port)/metrics", field).status
            }
            try await withThrowingTaskGroup(of: Int.self) { clients in
                for _ in 0..<30 { clients.addTask { try await status(old) } }
                for try await status in clients { #expect(status == 200) }
            }
            #expect(try await status(nil) == 401)
            #expect(try await status(new) == 401)
            try volume.publish(["token": new])
            server.signal(SIGHUP)
            _ = await server.log.line(containing: "Token files reloaded")
            #expect(try await status(new) == 200)
            #expect(try await status(old) == 401)
        }
    }

    @Test func certificateIsServedAndReplacedWhileItRuns() async throws {
        func pair(_ name: String, in folder: String) async throws -> [String: String] {
            let outcome = try await Tool.run(
                URL(fileURLWithPath: "/usr/bin/openssl"),
                [
                    "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout",
                    "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem", "-days", "90", "-subj", "/CN=\(name)",
                    "-addext", "subjectAltName=DNS:gateway.test",
                ]
            )
            try #require(outcome.status == 0, "\(outcome.error)")
            func text(_ ending: String) throws -> String {
                try String(contentsOfFile: "\(folder)/\(name).\(ending)", encoding: .utf8)
            }
            return ["tls.crt": try text("pem"), "tls.key": try text("key")]
        }
        let tls = ", tls: {certificates: [{name: scrape, chain: volume/tls.crt, key: volume/tls.key}]}"
        try await withGateway(tls) { folder, volume in
            try volume.publish(try await pair("first", in: folder.path))
        } _: { server, folder, volume, port in
            @Sendable func scrape(trusting name: String) async throws -> Tool.Outcome {
                // 'Host' is the pod's address, and the certificate has a name, as in Prometheus's
                // 'tls_config: {server_name: …}'.
                try await Tool.run(
                    URL(fileURLWithPath: "/usr/bin/curl"),
                    [
                        "-sS", "--max-time", "600", "--cacert", "\(folder.path)/\(name).pem", "--connect-to",
                        "gateway.test:443:127.0.0.1:\(port)", "-H", "Host: 10.42.0.7:9464", "-w", "%{http_version}",
                        "https://gateway.test/metrics",
                    ]
                )
            }
            try await withThrowingTaskGroup(of: Tool.Outcome.self) { clients in
                for _ in 0..<30 { clients.addTask { try await scrape(trusting: "first") } }
                for try await outcome in clients {
                    #expect(outcome.text.contains("holdfast_exchanges_total{"), "\(outcome.error)")
                    // The port speaks no HTTP/2, so it must not agree to it.
                    #expect(outcome.text.hasSuffix("\n1.1"))
                    #expect(outcome.text.contains("expiry_timestamp_seconds{certificate=\"scrape\"}"))
                }
            }
            try volume.publish(try await pair("second", in: folder.path))
            server.signal(SIGHUP)
            while try await scrape(trusting: "second").status != 0 { try Task.checkCancellation() }
            #expect(try await scrape(trusting: "first").status != 0)
        }
    }

    @Test func addressOfOtherMachinesNeedsAWord() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, "metrics: {listen: '0.0.0.0:0'}")
                let outcome = try await Tool("holdfast").run("check", "--config", folder.file)
                #expect(outcome.status == 1 && outcome.error.contains("set 'metrics.public: true'"), "\(outcome.error)")
                let files = "token: no.token, tls: {certificates: [{name: m, chain: no.pem, key: no.key}]}"
                try folder.write(origin, "metrics: {listen: '127.0.0.1:0', \(files)}")
                let missing = try await Tool("holdfast").run("check", "--config", folder.file)
                #expect(missing.status == 1)
                #expect(missing.error.contains("metrics.tls: certificate 'm'"), "\(missing.error)")
                try folder.write(origin, "metrics: {listen: '127.0.0.1:0', token: no.token}")
                let token = try await Tool("holdfast").run("check", "--config", folder.file)
                #expect(token.status == 1 && token.error.contains("metrics.token: The token file"), "\(token.error)")
            }
        }
    }
}
