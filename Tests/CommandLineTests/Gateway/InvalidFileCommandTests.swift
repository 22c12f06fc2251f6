import Foundation
import Testing

/// Commands for a running gateway, while its configuration file has an error.
@Suite(
    .timeLimit(.minutes(20)),
    .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")
)
struct InvalidFileCommandTests {
    private func run(_ arguments: [String], _ folder: PurgedGateway.Folder) async throws -> Tool.Outcome {
        try await Tool("holdfast").run(
            arguments: arguments + ["--config", folder.file],
            environment: ["RUNTIME_DIRECTORY": ""]
        )
    }

    private func append(_ text: String, to folder: PurgedGateway.Folder) throws {
        let file = URL(fileURLWithPath: folder.file)
        try (Data(contentsOf: file) + Data(text.utf8)).write(to: file)
    }

    private static let errors = ["\nmode: never\n", "\n\t- mode: never\n"]

    @Test(arguments: errors) func gatewayIsFoundByItsStore(error: String) async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let folder = gateway.folder
            try append(error, to: folder)
            for command in [
                ["status"], ["origins"], ["mode"], ["staleness"], ["pin", "--all"],
                ["purge", "--all"], ["drain"], ["try", "http://a.test/x"],
            ] {
                let outcome = try await run(command, folder)
                let warnings = outcome.error.components(separatedBy: "warning: only 'store.path' of the invalid file")
                #expect(warnings.count == 2, "\(command): \(outcome)")
                #expect(outcome.error.contains("is used. \(folder.file):"), "\(command): \(outcome)")
                let store = try await folder.run(command)
                #expect(outcome.status == store.status && store.error.isEmpty, "\(command): \(outcome) \(store)")
            }
        }
    }

    /// The gateway rejects the file itself, so that its metric counts it and the alert fires.
    @Test(arguments: errors) func reloadReachesTheGateway(error: String) async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try append(error, to: gateway.folder)
            let outcome = try await run(["reload"], gateway.folder)
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.error.contains("Error: ") && !outcome.error.contains("warning: "), "\(outcome)")
            let metrics = try await gateway.curl("/metrics").text
            #expect(metrics.contains("holdfast_config_reloads_total{result=\"rejected\"} 1"))
        }
    }

    @Test func storeThatNoGatewayHasOpenDoesNotChange() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([.init(path: "/x")])
            gateway.server.signal(SIGTERM)
            let folder = gateway.folder
            try append(Self.errors[0], to: folder)
            var outcome = try await run(["purge", "--all"], folder)
            while outcome.status == 0 || !outcome.error.contains("no gateway has the store") {
                // The gateway is ending.
                try Task.checkCancellation()
                outcome = try await run(["purge", "--all"], folder)
            }
            #expect(outcome.error.contains("Nothing was changed."), "\(outcome)")
        }
    }

    @Test func unreadableStoreIsNamedWithAnotherWay() async throws {
        try await PurgedGateway.Folder.with { folder in
            for text in ["version: 1\nmode: never\n", "version: 1\nstore: {path: \"${NO_SUCH}\"}\n"] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                let outcome = try await run(["status"], folder)
                #expect(outcome.status == 1 && outcome.error.contains("\(folder.file):2: "), "\(outcome)")
                #expect(outcome.error.contains("'store.path' in '\(folder.file)' cannot be read"), "\(outcome)")
                #expect(outcome.error.contains("'--store'") && outcome.error.contains("'--socket'"), "\(outcome)")
            }
        }
    }
}
