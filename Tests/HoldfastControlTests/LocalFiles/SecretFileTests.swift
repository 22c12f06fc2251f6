import Foundation
import HTTPCacheSemantics
import LocalFiles
import TestSupport
import Testing

@testable import HoldfastControl

/// Who may have access to files with secrets, and how a token is replaced.
@Suite(.timeLimit(.minutes(20))) struct SecretFileTests {
    private static let reader = SecretAccess.Reader(user: 1000, groups: [1000, 2000])

    /// Mutants: others may read; any group may read; any user may own; root's group may read any
    /// file.
    @Test(arguments: [
        // Kubernetes: a mounted Secret of a pod with 'fsGroup: 2000'.
        (0o440, 0, 2000, true), (0o400, 0, 0, true), (0o640, 0, 1000, true), (0o600, 1000, 1000, true),
        (0o400, 1000, 7, true), (0o440, 1000, 2000, true),
        (0o444, 0, 2000, false), (0o644, 1000, 1000, false), (0o604, 1000, 1000, false), (0o441, 0, 2000, false),
        (0o460, 0, 2000, false), (0o620, 1000, 1000, false), (0o450, 0, 2000, false),
        // systemd: a credential of root and its group. An access control list lets the user read.
        (0o440, 0, 0, true), (0o444, 0, 0, false), (0o460, 0, 0, false),
        // The group of others, and a file that another user can change.
        (0o440, 0, 7, false), (0o440, 1000, 0, false),
        (0o640, 1000, 7, false), (0o600, 7, 1000, false), (0o440, 7, 2000, false),
    ])
    func oneOwnerAndOneGroupMayRead(_ mode: Int, _ owner: Int, _ group: Int, _ isAllowed: Bool) {
        let access = SecretAccess(mode: mode_t(mode), owner: uid_t(owner), group: gid_t(group))
        let fault = access.fault(of: "/run/secret", for: Self.reader)
        #expect((fault == nil) == isAllowed, "\(fault ?? "")")
        // Root checks a file for another user, but never one that all users can read.
        let isOpen = mode & 0o037 != 0
        #expect((access.fault(of: "/run/secret", for: .init(user: 0, groups: [0])) == nil) == !isOpen)
    }

    @Test func filesAreReadUpToALimitAndOnlyIfRegular() throws {
        let volume = try Volume()
        defer { withExtendedLifetime(volume) {} }
        try volume.publish("0123456789")
        #expect(try LocalFile.read(volume.file, limit: 10, isSecret: true) == Array("0123456789".utf8))
        let large = #expect(throws: LocalFile.Refusal.self) { try LocalFile.read(volume.file, limit: 9) }
        #expect(large?.message == "is too large. The limit is 9 bytes.")
        #expect(throws: LocalFile.Refusal.self) { try LocalFile.read(volume.path, limit: 9) }
        #expect(throws: LocalFile.Refusal.self) { try LocalFile.read(volume.path + "/none", limit: 9) }
    }

    /// Mutant: `pasted-secret-is-shown`.
    @Test(arguments: [
        (String(repeating: "a1", count: 32), true), ("q83vEjRWeJCrze8SNFZ4kKvN/xI0VniQq83vEjRWeJA=", true),
        ("correct-horse-7", true), (String(repeating: "word.", count: 13), true), ("missing.token", false),
        ("redis_password", false), ("token1", false), ("v2/secrets/api.key", false),
    ])
    func secretInThePlaceOfAPathIsNotShown(_ name: String, _ isHidden: Bool) throws {
        let volume = try Volume()
        defer { withExtendedLifetime(volume) {} }
        try volume.publish("x")
        let path = volume.path + "/" + name
        let refusal = #expect(throws: LocalFile.Refusal.self) { try LocalFile.read(path, limit: 9, isSecret: true) }
        #expect(refusal?.path == (isHidden ? volume.path + "/…" : path))
        #expect(refusal?.message.contains("Write the path of a file") == isHidden, "\(String(describing: refusal))")
        // The path of a page or a certificate is no secret.
        let open = #expect(throws: LocalFile.Refusal.self) { try LocalFile.read(path, limit: 9) }
        #expect(open?.path == path)
    }

    /// Mutant: the mode of the link is checked.
    @Test func secretIsReadThroughTheLinksOfAVolume() throws {
        let volume = try Volume()
        defer { withExtendedLifetime(volume) {} }
        try volume.publish(Self.token("a"))
        let file = TokenFile(path: volume.file)
        #expect(try TokenTable([file.read(name: "a", scope: .read)]).token(presented: Self.token("a")) != nil)
        try volume.publish(Self.token("a"), mode: 0o444)
        #expect(throws: InvalidSetting.self) { try file.read(name: "a", scope: .read) }
    }

    private static func token(_ digit: Character) -> String { String(repeating: digit, count: 64) }

    /// Mutants: a file that cannot be used ends the access; the old token stays valid.
    @Test func tokenIsReplacedWhileClientsUseIt() async throws {
        let volume = try Volume()
        defer { withExtendedLifetime(volume) {} }
        try volume.publish(Self.token("a"))
        let (file, log) = (TokenFile(path: volume.file), CapturedLog())
        let watch = try TokenWatch(logger: log.logger()) { () throws(InvalidSetting) in
            [try file.read(name: "deploy", scope: .purge)]
        }
        @Sendable func knows(_ digit: Character) -> Bool {
            watch.verifier.purger(presenting: ["Bearer " + Self.token(digit)], from: "192.0.2.1") == "deploy"
        }
        watch.reload()
        #expect(knows("a") && log.lines.isEmpty)
        // A file that others can read changes nothing, and is logged once.
        try volume.publish(Self.token("b"), mode: 0o444)
        for _ in 0..<3 { watch.reload() }
        #expect(knows("a") && !knows("b"))
        #expect(log.lines.count == 1 && log.lines.first?.contains("mode 0444") == true, "\(log.lines)")
        // Thirty clients always have one valid token while the files are reread.
        try volume.publish(Self.token("c"))
        await withTaskGroup(of: Bool.self) { clients in
            for _ in 0..<30 { clients.addTask { knows("a") || knows("c") } }
            clients.addTask {
                watch.reload()
                return knows("c")
            }
            for await isKnown in clients { #expect(isKnown) }
        }
        #expect(knows("c") && !knows("a"))
        #expect(log.lines.count == 2 && !log.lines.joined().contains(Self.token("c")))
    }
}

/// A volume with one file, `token`.
private struct Volume: Sendable {
    private let folder: TemporaryFolder
    private let secrets: SecretVolume
    var path: String { secrets.path }
    var file: String { secrets.file("token") }

    init() throws {
        folder = try TemporaryFolder()
        secrets = try SecretVolume(at: folder.path + "/volume")
    }

    func publish(_ text: String, mode: Int = 0o440) throws { try secrets.publish(["token": text], mode: mode) }
}
