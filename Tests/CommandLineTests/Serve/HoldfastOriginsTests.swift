import Foundation
import SampleOrigin
import TestSupport
import Testing

/// `origins` of the configuration, with the built program and a server of Python's TLS that demands
/// certificates.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastOriginsTests {
    /// Responds to every GET, and only to clients with a certificate that it trusts.
    private static let server = """
        import http.server, ssl, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                names = [value for part in self.connection.getpeercert()["subject"] for _, value in part]
                text = f"{self.headers['Host']} {' '.join(names)} {self.path}".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.send_header("Cache-Control", "max-age=1")
                self.end_headers()
                self.wfile.write(text)
            def log_message(self, *_): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile="client.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain("server.pem", "server.key")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    /// Makes `NAME.pem` and `NAME.key`.
    private func make(_ name: String, in folder: String) async throws {
        let outcome = try await Tool.run(
            URL(fileURLWithPath: "/usr/bin/openssl"),
            [
                "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout",
                "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem", "-days", "90", "-subj", "/CN=\(name).example",
                "-addext", "subjectAltName=DNS:\(name).example",
            ]
        )
        try #require(outcome.status == 0, "\(outcome.error)")
    }

    /// Runs the server; it ends with the body.
    private func withServer(
        in folder: PurgedGateway.Folder,
        _ body: (_ port: String, ChildProcess) async throws -> Void
    ) async throws {
        let python = try #require(HoldfastMetricsTests.python)
        let output = Pipe()
        let nothing = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        let process = try ChildProcess(
            URL(fileURLWithPath: "/bin/sh"),
            ["-c", "cd '\(folder.path)' && exec '\(python)' -c \"$0\"", Self.server],
            output: output.fileHandleForWriting.fileDescriptor,
            error: nothing.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        _ = try await process.end {
            let port = await OutputReader(output).firstLine().trimmingCharacters(in: .newlines)
            try #require(Int(port) != nil, "'\(port)'")
            try await body(port, process)
            kill(process.identifier, SIGKILL)
        }
    }

    private func write(_ folder: PurgedGateway.Folder, _ origins: String) throws {
        let text = """
            version: 1
            listen: 127.0.0.1:0
            store: {path: s}
            log: {access: all, format: json}
            routes: [{origin: "https://server.example"}]
            origins:
              https://server.example:
            \(origins.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"))
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
    }

    /// Its cause is shown once.
    @Test func onlyServerOfAnUnreachableOriginFails() async throws {
        try await PurgedGateway.Folder.with { folder in
            let text = """
                version: 1
                listen: 127.0.0.1:0
                store: {path: s}
                routes: [{origin: "http://127.0.0.1:1"}]
                origins: {"http://127.0.0.1:1": {timeouts: {idle: 10 s}}}
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
            try await PurgedGateway.with(folder) { gateway in
                for number in 0..<5 { _ = try await gateway.get("/\(number)") }
                let origins = try await gateway.run(["origins"])
                #expect(origins.lines.first?.hasPrefix("unreachable  http://127.0.0.1:1 ") == true, "\(origins)")
                #expect(origins.lines.contains { $0.hasPrefix("    failing   http://127.0.0.1:1 ") }, "\(origins)")
                #expect(origins.lines.count { $0.contains(" refused: ") } == 1, "\(origins)")
            }
        }
    }

    /// Mutant: `mistyped-names-are-reported`.
    @Test func mistypedHostOfTheForwardProxyIsShownAndNotReported() async throws {
        try await PurgedGateway.Folder.with { folder in
            let text = """
                version: 1
                listen: 127.0.0.1:0
                store: {path: s}
                forward-proxy: {hosts: ["*.nowhere.invalid"]}
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
            try await PurgedGateway.with(folder) { gateway in
                let response = try await gateway.get("http://mistyped.nowhere.invalid/")
                #expect(response.hasPrefix("HTTP/1.1 504 "), "\(response)")
                let origins = try await gateway.run(["origins"])
                #expect(origins.lines.first?.hasPrefix("unresolved   http://mistyped.nowhere.invalid ") == true)
                #expect(origins.lines.contains { $0.contains(" name-resolution: ") }, "\(origins)")
                let status = try await gateway.run(["status"])
                #expect(!status.text.contains("unreachable") && !status.text.contains("mistyped"), "\(status)")
                let health = try await gateway.curl("/healthz")
                #expect(health.json["status"] as? String == "ok", "\(health.text)")
                let overview = try await gateway.curl("/v1/overview")
                #expect(overview.json["unreachableCount"] as? Int == 0 && overview.json["originCount"] as? Int == 0)
                #expect(overview.json["responsesFrom"] as? String == "origin", "\(overview.text)")
                let metrics = try await gateway.curl("/metrics").text
                #expect(metrics.contains("holdfast_origin_up{origin=\"other\"} 1\n"), "\(metrics)")
                #expect(!metrics.contains("holdfast_origin_outages_total{origin=\"other\"} 1\n"), "\(metrics)")
            }
        }
    }

    /// A private root and a certificate reach the server. When it is gone, the mirror responds,
    /// then the store.
    @Test(.enabled(if: HoldfastMetricsTests.python != nil, "Python 3 is the server"))
    func privateRootReachesServerThenMirrorThenStore() async throws {
        try await PurgedGateway.Folder.with { folder in
            for name in ["server", "client"] { try await make(name, in: folder.path) }
            try await withServer(in: folder) { port, process in
                try await SampleOrigin.withOrigin { mirror in
                    mirror.respond("mirror")
                    try write(
                        folder,
                        """
                        addresses: ["127.0.0.1:\(port)"]
                        mirrors: ["\(mirror.baseURL)"]
                        insecure: true
                        ca: server.pem
                        certificate: client.pem
                        key: client.key
                        """
                    )
                    try await PurgedGateway.with(folder) { gateway in
                        let first = try await gateway.get("/a")
                        #expect(first.contains("server.example client.example /a"), "\(first)")
                        let line = await gateway.server.log.line(containing: "url.path")
                        #expect(line.contains(#""origin.server":"127.0.0.1:\#(port)""#), "\(line)")
                        kill(process.identifier, SIGKILL)
                        let second = try await gateway.get("/b")
                        #expect(second.hasSuffix("mirror"), "\(second)")
                        let other = await gateway.server.log.line(containing: #""url.path":"/b""#)
                        #expect(other.contains(#""origin.server":"\#(mirror.baseURL)""#), "\(other)")
                        let servers = try await gateway.run(["origins"])
                        #expect(
                            servers.text.contains("\n    set aside 127.0.0.1:\(port)  responses: 1, failures: 1\n"),
                            "\(servers)"
                        )
                        #expect(
                            servers.text.contains("\n    in use    \(mirror.baseURL)  responses: 1, failures: 0\n"),
                            "\(servers)"
                        )
                        await mirror.stop()
                        _ = try await gateway.get("/c")
                        let stored = try await gateway.get("/a")
                        #expect(stored.contains("server.example client.example /a"), "\(stored)")
                        let status = try await gateway.run(["status"])
                        #expect(status.text.contains("warning        The mirror '\(mirror.baseURL)'"), "\(status)")
                    }
                }
            }
        }
    }

    @Test func checkReadsFilesAndNamesOriginAndLineOfErrors() async throws {
        try await PurgedGateway.Folder.with { folder in
            for name in ["one", "two"] { try await make(name, in: folder.path) }
            func check(_ origins: String) async throws -> Tool.Outcome {
                try write(folder, origins)
                return try await Tool("holdfast").run("check", "--config", folder.file)
            }
            let place = "\(folder.file):7: origin 'https://server.example'"
            let pair = try await check("certificate: one.pem\nkey: two.key")
            #expect(pair.status == 1 && pair.error.hasPrefix(place), "\(pair)")
            #expect(pair.error.contains("two.key' contains a key that does not match the first certificate"), "\(pair)")
            let missing = try await check("ca: missing.pem")
            #expect(missing.status == 1 && missing.error.contains("missing.pem' cannot be opened"), "\(missing)")
            let open = try await check("verify: false\ninsecure: true")
            #expect(open.status == 0 && open.error.hasPrefix("warning: \(place)"), "\(open)")
            #expect(open.error.contains("is not verified ('verify: false')"), "\(open)")
            let shown = open.lines.map { $0.split(separator: " ") }
            #expect(shown.contains(["verify", "false"]) && shown.contains(["insecure", "true"]), "\(open)")
            let good = try await check("ca: one.pem\ncertificate: two.pem\nkey: two.key")
            #expect(good.status == 0 && !good.error.contains("error"), "\(good)")
        }
    }

    @Test func reloadRejectsUnusableFilesAndWarnsOfLostProtection() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await make("server", in: folder.path)
            try write(folder, "ca: server.pem")
            try await PurgedGateway.with(folder) { gateway in
                try write(folder, "ca: missing.pem")
                let rejected = try await gateway.run(["reload"])
                #expect(rejected.status != 0)
                let line = await gateway.server.log.line(containing: "Configuration rejected")
                #expect(line.contains("Origin 'https://server.example'"), "\(line)")
                try write(folder, "verify: false\ninsecure: true")
                let reloaded = try await gateway.run(["reload"])
                #expect(reloaded.status == 0, "\(reloaded)")
                let warning = await gateway.server.log.line(containing: "Setting reduces protection")
                #expect(warning.contains("'https://server.example' is not verified"), "\(warning)")
                let status = try await gateway.run(["status", "--format", "json"])
                let report = try #require(try status.objects().first)
                let warnings = (report["configuration"] as? [String: Any])?["warnings"] as? [String]
                #expect(warnings?.count == 1, "\(status)")
            }
        }
    }
}
