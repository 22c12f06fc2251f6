import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastFleet
import HoldfastTesting
import Logging
import TestSupport
import Testing

/// How a client joins the fleet of its configuration file.
@Suite(.timeLimit(.minutes(20))) struct FleetConnectorTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Calls `body` with a file of a fleet whose server is unreachable, and the store's folder.
    private func withFile(
        secret: String = String(repeating: "s", count: 32),
        _ body: (Configuration, _ store: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try writeFile("\(folder.path)/secret", Array(secret.utf8))
        let port = try HeldPort()
        defer { withExtendedLifetime(port) {} }
        let file = try Configuration(
            yaml: """
                version: 1
                store: {path: "\(folder.store)"}
                fleet:
                  url: redis://127.0.0.1:\(port.port)
                  namespace: shop
                  node: a
                  secret: {file: "\(folder.path)/secret"}
                """
        )
        try await body(file, folder.store)
    }

    /// It never runs with purges of its own store only.
    @Test func clientWithoutAConnectorIsRefused() async throws {
        try await withFile { file, store in
            let error = await #expect(throws: ConfigurationError.self) {
                try await CachingClient.open(file, logger: Self.logger)
            }
            let text = error?.description ?? ""
            #expect(text.contains("fleet.url") && text.contains("'HoldfastFleet'") && text.contains("'fleet: .redis'"))
            #expect(!FileManager.default.fileExists(atPath: store))
        }
    }

    /// The settings alone lose the fleet, so they open no client either.
    @Test func settingsOfAFileWithAFleetOpenNoClient() async throws {
        try await withFile { file, store in
            var settings = CachingClient.Configuration(file)
            settings.mode = .preferStored
            let error = await #expect(throws: ConfigurationError.self) {
                try await CachingClient.open(store: store, configuration: settings, logger: Self.logger)
            }
            #expect(error?.description.contains("'HoldfastFleet'") == true)
            #expect(!FileManager.default.fileExists(atPath: store))
            var alone = file
            alone.fleet.url = nil
            let client = try await CachingClient.open(
                store: store,
                configuration: CachingClient.Configuration(alone),
                logger: Self.logger
            )
            try await client.close()
        }
    }

    @Test func clientOpensWhileTheServerIsUnreachable() async throws {
        try await withFile { file, _ in
            for number in 1...2 {
                let client = try await CachingClient.open(file, fleet: .redis, logger: Self.logger)
                // The first purge waits in the journal, even if it is made at once.
                try await client.store.invalidateAllResponses()
                #expect(try await client.store.invalidationLog.unpublishedCount() == number)
                try await client.close()
            }
        }
    }

    @Test func unusableSecretClosesTheStoreAgain() async throws {
        try await withFile(secret: "short") { file, _ in
            for _ in 1...2 {
                let error = await #expect(throws: ConfigurationError.self) {
                    try await CachingClient.open(file, fleet: .redis, logger: Self.logger)
                }
                #expect(error?.description.contains("fleet.secret") == true)
            }
        }
    }

    /// A file that passes the check can be served.
    @Test(arguments: [("a@", nil, false), ("a@", "A", true), ("", nil, true)] as [(String, String?, Bool)])
    func userNeedsAPassword(_ user: String, _ variable: String?, _ isValid: Bool) throws {
        let password = variable.map { ", password: {env: \($0)}" } ?? ""
        let file = try Configuration(
            yaml: "version: 1\nfleet: {url: 'redis://\(user)127.0.0.1', namespace: s, secret: {env: S}\(password)}"
        )
        let environment = ["A": "right", "S": String(repeating: "s", count: 32)]
        var problem = ""
        do { try FleetMember.check(file, environment: environment) } catch { problem = "\(error)" }
        #expect(isValid ? problem.isEmpty : problem.contains("has a user but no password"), "\(problem)")
    }

    @Test func fileWithoutAFleetNeedsNoConnector() async throws {
        try await withFile { _, store in
            let alone = try Configuration(yaml: "version: 1\nstore: {path: \"\(store)\"}")
            for connector in [nil, FleetConnector.redis] {
                let client = try await CachingClient.open(alone, fleet: connector, logger: Self.logger)
                try await client.close()
            }
        }
    }
}
