import Foundation
import SampleOrigin
import TestSupport
import Testing

/// TLS of the built gateway, with curl as the client and certificates of openssl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct ListenerTLSTests {
    /// Makes `NAME.pem` and `NAME.key`.
    static func make(_ name: String, in folder: String, rsa: Bool = false) async throws {
        let key = rsa ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        let outcome = try await Tool.run(
            URL(fileURLWithPath: "/usr/bin/openssl"),
            ["req", "-x509", "-nodes", "-newkey"] + key + [
                "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem", "-days", "90", "-subj",
                "/CN=\(name)",
                "-addext", "subjectAltName=DNS:a.example",
            ]
        )
        try #require(outcome.status == 0, "\(outcome.error)")
    }

    private static func curl(_ folder: String, trusting name: String, _ port: Int, _ more: [String] = []) async throws
        -> Tool.Outcome
    {
        try await Tool.run(
            URL(fileURLWithPath: "/usr/bin/curl"),
            [
                "-sS", "--max-time", "600", "--cacert", "\(folder)/\(name).pem", "--connect-to",
                "a.example:443:127.0.0.1:\(port)",
            ]
                + more + ["https://a.example/a"]
        )
    }

    private func withFolder(_ body: (PurgedGateway.Folder) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                origin.respond("v1")
                try await Self.make("main", in: folder.path)
                let text = """
                    version: 1
                    listen:
                      - address: 127.0.0.1:0
                        tls: {certificates: [{name: main, chain: main.pem, key: main.key}]}
                      - {unix: h.sock}
                    store: {path: s}
                    log: {access: all, format: json}
                    routes: [{host: a.example, origin: "\(origin.baseURL)"}]
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                try await body(folder)
            }
        }
    }

    @Test func reloadTakesNewCertificateButNoWrongOneForThirtyClients() async throws {
        try await withFolder { folder in
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                #expect(server.announcement == "holdfast listening on https://127.0.0.1:\(server.port)\n")
                try await withThrowingTaskGroup(of: Tool.Outcome.self) { group in
                    for _ in 0..<30 {
                        group.addTask { try await Self.curl(folder.path, trusting: "main", server.port) }
                    }
                    for try await outcome in group { #expect(outcome.output == Data("v1".utf8), "\(outcome.error)") }
                }
                let line = await server.log.line(containing: "url.scheme")
                #expect(line.contains(#""url.scheme":"https""#) && line.contains(#""tls.protocol.version":"1.3""#))
                let old = try await Self.curl(folder.path, trusting: "main", server.port, ["--tls-max", "1.1"])
                #expect(old.status != 0)

                try await Self.make("next", in: folder.path)
                let files = FileManager.default
                try files.copyItem(atPath: folder.path + "/main.pem", toPath: folder.path + "/first.pem")
                func replace(_ ending: String) throws {
                    let data = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/next.\(ending)"))
                    try data.write(to: URL(fileURLWithPath: folder.path + "/main.\(ending)"))
                }
                try replace("key")
                server.signal(SIGHUP)
                let rejected = await server.log.line(containing: "Certificate rejected")
                #expect(rejected.contains("tls.certificate=main") && rejected.contains("main.key"), "\(rejected)")
                let outcome = try await Self.curl(folder.path, trusting: "first", server.port)
                #expect(outcome.output == Data("v1".utf8), "\(outcome.error)")
                try replace("pem")
                server.signal(SIGHUP)
                while try await Self.curl(folder.path, trusting: "next", server.port).status != 0 {
                    try Task.checkCancellation()
                }
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }

    @Test(arguments: [
        ("", "2"), (", alpn: [http/1.1]", "1.1"), (", alpn: [http/1.1, h2]", "1.1"),
    ])
    func alpnChoosesOfferedProtocols(_ setting: String, _ version: String) async throws {
        try await withFolder { folder in
            let text = try String(contentsOfFile: folder.file, encoding: .utf8)
            let changed = text.replacingOccurrences(of: "key: main.key}]", with: "key: main.key}]\(setting)")
            try Data(changed.utf8).write(to: URL(fileURLWithPath: folder.file))
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                let more = ["--output", "/dev/null", "--write-out", "%{http_version}"]
                let outcome = try await Self.curl(folder.path, trusting: "main", server.port, more)
                #expect(outcome.output == Data(version.utf8), "\(outcome.error)")
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }

    @Test func checkFailsOnCertificateErrorsButNotOnWarnings() async throws {
        try await withFolder { folder in
            func check(_ more: String...) async throws -> Tool.Outcome {
                try await Tool("holdfast").run(arguments: ["check", "--config", folder.file] + more)
            }
            chmod(folder.path + "/main.key", 0o600)
            let good = try await check()
            #expect(good.status == 0 && good.error.isEmpty, "\(good.error)")
            try await Self.make("main", in: folder.path, rsa: true)
            chmod(folder.path + "/main.key", 0o644)
            let open = try await check()
            #expect(
                open.status == 1 && open.error.contains("is accessible to other users (mode 0644)"),
                "\(open.error)"
            )
            chmod(folder.path + "/main.key", 0o600)
            let warned = try await check()
            #expect(warned.status == 0)
            let lines = warned.error.split(separator: "\n")
            #expect(
                lines.count == 1
                    && lines.allSatisfy { $0.hasPrefix("warning: \(folder.file):2: listen: certificate 'main': ") }
            )
            #expect(warned.error.contains("is an RSA key"))
            let json = try await check("--format", "json").objects()
            #expect((json.first?["warnings"] as? [Any])?.count == 1 && json.first?["valid"] as? Bool == true)
            try await Self.make("other", in: folder.path)
            try Data(contentsOf: URL(fileURLWithPath: folder.path + "/other.key"))
                .write(to: URL(fileURLWithPath: folder.path + "/main.key"))
            let wrong = try await check()
            #expect(wrong.status == 1 && wrong.error.contains("does not match the first certificate"), "\(wrong.error)")
            let serve = try await Tool("holdfast").run(arguments: ["serve", "--config", folder.file])
            #expect(serve.status == 1 && serve.error.contains("does not match the first certificate"), "\(serve.error)")
            #expect(!serve.error.contains("--listen"))
        }
    }

    @Test func managerSocketHasTLSOfItsAddressAndIsNeverInClear() async throws {
        try await withFolder { folder in
            let socket = try ListeningSocket()
            let arguments = ["--config", folder.file, "--no-control"]
            let text = try String(contentsOfFile: folder.file, encoding: .utf8)
            func write(port: Int) throws {
                let changed = text.replacingOccurrences(of: "127.0.0.1:0", with: "127.0.0.1:\(port)")
                try Data(changed.utf8).write(to: URL(fileURLWithPath: folder.file))
            }
            try write(port: socket.port)
            let ending = try await RunningServer.with(arguments, inherited: socket) { server in
                #expect(server.announcement == "holdfast listening on https://127.0.0.1:\(socket.port)\n")
                let outcome = try await Self.curl(folder.path, trusting: "main", socket.port)
                #expect(outcome.output == Data("v1".utf8), "\(outcome.error)")
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }
}
