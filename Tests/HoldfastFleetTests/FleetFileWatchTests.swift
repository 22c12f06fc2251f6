import FleetTier
import HoldfastConfiguration
import HoldfastTesting
import Logging
import Synchronization
import TestSupport
import Testing

@testable import HoldfastFleet

/// The files of a fleet, replaced in a volume of Kubernetes.
@Suite(.timeLimit(.minutes(20))) struct FleetFileWatchTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private static let (old, new) = (String(repeating: "o", count: 32), String(repeating: "n", count: 32))

    /// Calls `body` with a file of a fleet whose secret and password are in a volume.
    private func withFile(_ body: (Configuration, SecretVolume) throws -> Void) throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let volume = try SecretVolume(at: folder.path + "/volume")
        try volume.publish(["password": "one\n", "secret": Self.old, "next": Self.old])
        let file = try Configuration(
            yaml: """
                version: 1
                fleet:
                  url: redis://127.0.0.1:1
                  namespace: shop
                  secret: {file: volume/secret}
                  next-secret: {file: volume/next}
                  password: {file: volume/password}
                """,
            file: folder.path + "/holdfast.yaml"
        )
        try body(file, volume)
    }

    @Test func passwordIsReplacedWhileTheProgramRuns() throws {
        try withFile { file, volume in
            #expect(file.fleet.passwordFile == "volume/password")
            let used = Mutex<[String]>([])
            let first = try #require(try file.fleetPassword(environment: [:]))
            #expect(first == "one")
            let watch = FleetFileWatch("fleet.password", first, logger: Self.logger) { _ in
                try file.fleetPassword(environment: [:])
            } replace: { password in
                used.withLock { $0.append(password) }
            }
            watch.reload()
            #expect(used.withLock { $0 }.isEmpty)
            try volume.publish(["password": "two"])
            for _ in 0..<2 { watch.reload() }
            #expect(used.withLock { $0 } == ["two"])
            // A file that others can read changes nothing.
            try volume.publish(["password": "three"], mode: 0o444)
            watch.reload()
            #expect(used.withLock { $0 } == ["two"] && watch.problem != nil)
            try volume.publish(["password": "three"])
            watch.reload()
            #expect(used.withLock { $0 } == ["two", "three"] && watch.problem == nil)
        }
    }

    /// A value that cannot be used is tried again, and the one before stays in use.
    @Test func aRejectedValueIsTriedAgain() throws {
        struct Rejection: Error {}
        let content = Mutex(1)
        let rejects = Mutex(true)
        let used = Mutex<[Int]>([])
        let watch = FleetFileWatch("fleet.tls", 1, logger: Self.logger) { _ in
            content.withLock { $0 }
        } replace: { value in
            if rejects.withLock({ $0 }) { throw Rejection() }
            used.withLock { $0.append(value) }
        }
        content.withLock { $0 = 2 }
        watch.reload()
        #expect(used.withLock { $0 }.isEmpty && watch.problem != nil)
        rejects.withLock { $0 = false }
        watch.reload()
        #expect(used.withLock { $0 } == [2] && watch.problem == nil)
    }

    /// The log names the setting whose file is new, and no other.
    @Test func theSettingOfANewFileIsNamed() throws {
        try withFile { file, volume in
            let first = try FleetSecrets(file, environment: [:])
            #expect(first.changes(from: first).isEmpty)
            try volume.publish(["secret": Self.old, "next": Self.new])
            let second = try FleetSecrets(file, environment: [:])
            #expect(second.changes(from: first) == ["fleet.next-secret"])
            try volume.publish(["secret": Self.new, "next": Self.new])
            let third = try FleetSecrets(file, environment: [:]).succeeding(second, at: .zero, for: .seconds(1))
            #expect(third.changes(from: second) == ["fleet.secret"])
            // Only the former secret is forgotten.
            let last = try FleetSecrets(file, environment: [:]).succeeding(third, at: .seconds(1), for: .seconds(1))
            #expect(last != third && last.changes(from: third).isEmpty)
        }
    }

    /// The secret before opens entries until the log has no more of them.
    @Test func aReplacedSecretIsFormerForAStatedTime() throws {
        try withFile { file, volume in
            let first = try FleetSecrets(file, environment: [:])
            #expect(file.fleet.secretFiles == ["volume/secret", "volume/next"])
            try volume.publish(["secret": Self.new, "next": Self.new])
            let read = try FleetSecrets(file, environment: [:])
            let second = read.succeeding(first, at: .seconds(10), for: .seconds(100))
            #expect(second.former == FleetSecrets.Former(secret: Self.old, until: .seconds(110)))
            #expect(second.keys != nil)
            // It stays when nothing changes, and when another file does.
            #expect(read.succeeding(second, at: .seconds(109), for: .seconds(100)) == second)
            #expect(read.succeeding(second, at: .seconds(110), for: .seconds(100)).former == nil)
            #expect(first.succeeding(first, at: .zero, for: .seconds(100)) == first)
            // A secret that is too short changes nothing.
            try volume.publish(["secret": "short", "next": Self.new])
            #expect(throws: ConfigurationError.self) { try FleetSecrets(file, environment: [:]) }
        }
    }
}
