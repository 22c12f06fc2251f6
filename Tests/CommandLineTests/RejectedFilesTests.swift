import Foundation
import SampleOrigin
import Testing

/// A reload by a command rereads every file that the configuration names, as SIGHUP does, and says
/// which cannot be used.
@Suite("Files that a reload rejects", .timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct RejectedFilesTests {
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
    ]

    @Test(arguments: faults)
    func reloadAndStatusNameTheFile(fault: Fault) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                for name in ["main", "other"] { try await ListenerTLSTests.make(name, in: folder.path) }
                let place = folder.path + "/" + fault.file
                let files = FileManager.default
                try files.copyItem(atPath: folder.path + "/main.pem", toPath: folder.path + "/roots.pem")
                try write(String(repeating: "1", count: 64), to: folder.path + "/token", mode: 0o600)
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

                    try? files.removeItem(atPath: place)
                    try before.write(to: URL(fileURLWithPath: place))
                    try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place)
                    let again = try await gateway.run(["reload"])
                    #expect(again.status == 0 && again.text == "Reloaded. Nothing changed.\n", "\(again)")
                    #expect(try await !gateway.run(["status"]).text.contains("rejected"))
                }
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
        routes:
          - {host: a.example, origin: "https://a.example"}
          - {origin: "\(origin.baseURL)"}
        """
    }
}
