import HoldfastConfiguration
import HoldfastTesting
import Logging
import Synchronization
import TestSupport
import Testing

@testable import HoldfastFleet

/// The password of the fleet's server, replaced in a volume of Kubernetes.
@Suite(.timeLimit(.minutes(20))) struct PasswordWatchTests {
    @Test func passwordIsReplacedWhileTheProgramRuns() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let volume = try SecretVolume(at: folder.path + "/volume")
        try volume.publish(["password": "one\n"])
        let file = try Configuration(
            yaml: """
                version: 1
                fleet:
                  url: redis://127.0.0.1:1
                  namespace: shop
                  secret: {env: SECRET}
                  password: {file: volume/password}
                """,
            file: folder.path + "/holdfast.yaml"
        )
        #expect(file.fleet.passwordFile == "volume/password")
        let used = Mutex<[String]>([])
        let first = try #require(try file.fleetPassword(environment: [:]))
        #expect(first == "one")
        let watch = PasswordWatch(first, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
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
        #expect(used.withLock { $0 } == ["two"])
        try volume.publish(["password": "three"])
        watch.reload()
        #expect(used.withLock { $0 } == ["two", "three"])
    }
}
