import Foundation
import SampleOrigin
import Testing

/// A reload by a command rereads every file that the configuration names, as SIGHUP does, and says
/// which cannot be used.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct RejectedFilesTests {
    /// A change to a file, and the words about it.
    struct Fault: Sendable, CustomTestStringConvertible {
        let file: String
        /// `nil` removes the file.
        let content: String?
        var mode = 0o600
        let words: String

        var testDescription: String { words }
    }

    static let faults = [
        Fault(file: "token", content: String(repeating: "1", count: 64), mode: 0o644, words: "is accessible to other"),
        Fault(file: "main.key", content: "other.key", words: "contains a key that does not match"),
        Fault(file: "roots.pem", content: nil, words: "cannot be opened: No such file or directory"),
        Fault(file: "roots.pem", content: "garbage", words: "contains no certificate in PEM format"),
        Fault(file: "api.key", content: "other", mode: 0o644, words: "is accessible to other users (mode 0644)"),
        Fault(file: "api.key", content: nil, words: "cannot be opened: No such file or directory"),
        Fault(file: "closed.html", content: "<p>{staus}", words: "The placeholder '{staus}' is unknown"),
    ]

    @Test(arguments: faults)
    func reloadAndStatusNameTheFile(fault: Fault) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                for name in ["main", "other"] { try await ListenerTLSTests.make(name, in: folder.path) }
                let place = folder.path + "/" + fault.file
                let files = FileManager.default
                try files.copyItem(atPath: folder.path + "/main.pem", toPath: folder.path + "/roots.pem")
                try writeNamedFiles(in: folder)
                try write(Self.configuration(origin), to: folder.file, mode: 0o600)
                let before = try Data(contentsOf: URL(fileURLWithPath: place))
                try await run(folder) { gateway in
                    #expect(try await gateway.run(["reload"]).text == "Reloaded. Nothing changed.\n")
                    try files.removeItem(atPath: place)
                    if let content = fault.content {
                        let isFile = content.hasSuffix(".key")
                        let text =
                            isFile ? try String(contentsOfFile: folder.path + "/" + content, encoding: .utf8) : content
                        try write(text, to: place, mode: fault.mode)
                    }
                    let reload = try await gateway.run(["reload"])
                    #expect(reload.status == 1, "\(reload)")
                    #expect(reload.lines.first?.hasPrefix("Reloaded, except for files") == true, "\(reload)")
                    #expect(reload.text.contains(fault.file) && reload.text.contains(fault.words), "\(reload)")
                    let log = await gateway.server.log.line(containing: "rejected")
                    #expect(log.contains(fault.file) && log.contains(fault.words), "\(log)")
                    let end = await gateway.server.log.line(containing: "Configuration reloaded")
                    #expect(end.contains("except for files that cannot be used"), "\(end)")
                    let status = try await gateway.run(["status"])
                    #expect(status.lines.first?.contains("1 file cannot be used.") == true, "\(status)")
                    #expect(status.lines.contains { $0.contains("rejected file") && $0.contains(fault.words) })
                    // Mutant: `rejected-files-have-no-metric`.
                    let metrics = try await gateway.curl("/metrics").text
                    #expect(metrics.contains("\nholdfast_rejected_files 1\n"))

                    try? files.removeItem(atPath: place)
                    try before.write(to: URL(fileURLWithPath: place))
                    try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place)
                    let again = try await gateway.run(["reload"])
                    #expect(again.status == 0 && again.text == "Reloaded. Nothing changed.\n", "\(again)")
                    #expect(try await !gateway.run(["status"]).text.contains("rejected"))
                    #expect(try await gateway.curl("/metrics").text.contains("\nholdfast_rejected_files 0\n"))
                }
            }
        }
    }

    /// Mutants: a reload does not look at the files; files that were rejected count.
    @Test func reloadNamesTheFilesThatChanged() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                for name in ["main", "other"] { try await ListenerTLSTests.make(name, in: folder.path) }
                let files = FileManager.default
                try files.copyItem(atPath: folder.path + "/main.pem", toPath: folder.path + "/roots.pem")
                try writeNamedFiles(in: folder)
                try write("<p>Back soon", to: folder.path + "/page.html", mode: 0o600)
                let pages = ", error-pages: {offline: page.html}}"
                let text = Self.configuration(origin)
                try write(String(text.dropLast()) + pages, to: folder.file, mode: 0o600)
                try await run(folder) { gateway in
                    #expect(try await gateway.run(["reload"]).text == "Reloaded. Nothing changed.\n")
                    let changes = [
                        ("page.html", "<p>Soon"), ("token", String(repeating: "2", count: 64)), ("api.key", "new"),
                        ("roots.pem", try String(contentsOfFile: folder.path + "/other.pem", encoding: .utf8)),
                    ]
                    for (name, content) in changes {
                        try write(content, to: folder.path + "/" + name, mode: 0o600)
                        let reload = try await gateway.run(["reload"])
                        #expect(reload.status == 0)
                        #expect(reload.text == "Reloaded.\n  changed file: \(folder.path)/\(name)\n", "\(reload)")
                    }
                    // Certificate and key belong together.
                    for ending in ["pem", "key"] {
                        let other = try String(contentsOfFile: folder.path + "/other." + ending, encoding: .utf8)
                        try write(other, to: folder.path + "/main." + ending, mode: 0o600)
                        let reload = try await gateway.run(["reload", "--format", "json"])
                        let result = try #require(try reload.objects().first)
                        let changed = result["changedFiles"] as? [String]
                        #expect(changed?.count == (ending == "pem" ? nil : 2), "\(reload)")
                        #expect((result["rejectedFiles"] != nil) == (ending == "pem"), "\(reload)")
                    }
                    #expect(try await gateway.run(["reload"]).text == "Reloaded. Nothing changed.\n")
                }
            }
        }
    }

    /// Mutant: `token-for-metrics-operates`.
    @Test func reloadRejectsTheTokenOfTheControlPlaneForMetrics() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let secrets = ["1", "2"].map { String(repeating: $0, count: 64) }
                try write(secrets[0], to: folder.path + "/token", mode: 0o600)
                try write(secrets[1], to: folder.path + "/metrics.token", mode: 0o600)
                let tokens = "control: {listen: 127.0.0.1:0, tokens: [{name: deploy, file: token, scope: operate}]}"
                let metrics = "metrics: {listen: 127.0.0.1:0, token: metrics.token}"
                try folder.write(origin, "\(tokens)\n\(metrics)\ndrain: {delay: off}")
                try await run(folder) { gateway in
                    let changes = [
                        ("metrics.token", secrets[0]), ("metrics.token", secrets[1]), ("token", secrets[1]),
                    ]
                    for (file, secret) in changes {
                        try write(secret, to: folder.path + "/" + file, mode: 0o600)
                        let reload = try await gateway.run(["reload"])
                        let isTwin = file == "token" || secret == secrets[0]
                        #expect(reload.status == (isTwin ? 1 : 0), "\(reload)")
                        let words = "  rejected: The token of 'metrics.token' is also the token 'deploy'"
                        #expect(reload.lines.count { $0.hasPrefix(words) } == (isTwin ? 1 : 0), "\(reload)")
                        for secret in secrets { #expect(!(reload.text + reload.error).contains(secret)) }
                    }
                }
                // Nor does a gateway start with them.
                let serve = try await Tool("holdfast").run("serve", "--config", folder.file)
                #expect(serve.status == 1 && serve.error.contains("control.tokens: The token of 'metrics.token'"))
            }
        }
    }

    private func run(_ folder: PurgedGateway.Folder, _ body: (PurgedGateway) async throws -> Void) async throws {
        let arguments = ["--config", folder.file]
        _ = try await RunningServer.with(arguments, environment: ["RUNTIME_DIRECTORY": ""]) { server in
            // The socket and the port, in either order.
            for _ in 0..<2 { _ = await server.log.line(containing: "controlled by") }
            try await body(PurgedGateway(folder: folder, server: server))
            server.signal(SIGTERM)
        }
    }

    private func writeNamedFiles(in folder: PurgedGateway.Folder) throws {
        try write(String(repeating: "1", count: 64), to: folder.path + "/token", mode: 0o600)
        try write("key", to: folder.path + "/api.key", mode: 0o600)
        try write("<p>Closed {status}", to: folder.path + "/closed.html", mode: 0o600)
    }

    private func write(_ text: String, to path: String, mode: Int) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private static func configuration(_ origin: RunningOrigin) -> String {
        """
        version: 1
        listen:
          - 127.0.0.1:0
          - address: 127.0.0.1:0
            tls: {certificates: [{name: main, chain: main.pem, key: main.key}]}
        store: {path: s}
        drain: {delay: off}
        control: {listen: 127.0.0.1:0, tokens: [{name: deploy, file: token, scope: purge}]}
        origins: {"https://a.example": {ca: roots.pem}}
        rules: [{to-origin: {set: {X-Api-Key: {file: api.key}}}}]
        routes:
          - {host: a.example, origin: "https://a.example", error-pages: {error: closed.html}}
          - {origin: "\(origin.baseURL)"}
        """
    }
}
