import Foundation
import LocalSockets
import TestSupport
import Testing

@testable import HoldfastControl

/// The right to a control socket: between processes that start together, and over what they leave.
@Suite(.timeLimit(.minutes(20))) struct SocketClaimTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body($0.path) }
    }

    /// A socket that listens.
    private final class Listener: Sendable {
        let descriptor: CInt

        init(_ path: String) throws {
            descriptor = UnixAddress.open()
            let address = try #require(UnixAddress(path))
            try #require(address.withPointer { bind(descriptor, $0, $1) } == 0)
            try #require(listen(descriptor, 8) == 0)
        }

        deinit { close(descriptor) }
    }

    private func files(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func oneOfThirtyThatStartTogetherGetsTheSocket() async throws {
        try await withFolder { folder in
            let socket = ControlSocket(path: folder + "/a.sock")
            for _ in 0..<20 {
                let claims = await withTaskGroup(of: SocketClaim?.self) { group in
                    for _ in 0..<30 { group.addTask { try? SocketClaim(socket) } }
                    return await group.reduce(into: [SocketClaim]()) { if let claim = $1 { $0.append(claim) } }
                }
                let claim = try #require(claims.first)
                #expect(claims.count == 1)
                let listener = try Listener(claim.draft)
                try claim.publish()
                let refusal = #expect(throws: SocketRefusal.self) { try SocketClaim(socket) }
                #expect(refusal?.isInUse == true && socket.reach == .live)
                claim.release()
                #expect(try files(folder).isEmpty)
                withExtendedLifetime(listener) {}
            }
        }
    }

    @Test func claimThatWasHandedOverLeavesTheSocketToTheOther() async throws {
        try await withFolder { folder in
            let location = ControlSocket(path: folder + "/a.sock").location
            let first = try SocketClaim(location)
            let listener = try first.listen()
            try first.publish()
            var lock = first.copyOfLock()
            // Not the lock of this path.
            #expect(throws: SocketRefusal.self) { try SocketClaim(location, takingOver: listener) }
            first.handOver()
            first.release()
            #expect(try files(folder) == ["a.sock", "a.sock.lock"] && first.copyOfLock() == nil)
            let second = try SocketClaim(location, takingOver: try #require(lock))
            lock = nil
            #expect(throws: SocketRefusal.self) { try SocketClaim(location) }
            try second.publish(mode: 0o600)
            #expect(try mode(location.path) == 0o600)
            second.release()
            #expect(try files(folder).isEmpty)
            // The path is free again.
            try SocketClaim(location).release()
            withExtendedLifetime(listener) {}
        }
    }

    @Test func socketIsForOwnerAndGroupFromTheStart() async throws {
        try await withFolder { folder in
            let claim = try SocketClaim(ControlSocket(path: folder + "/a.sock"))
            let parent = URL(fileURLWithPath: claim.draft).deletingLastPathComponent().path
            #expect(try mode(parent) == 0o700)
            let listener = try Listener(claim.draft)
            // Nothing can be seen at the path before it has its permissions.
            #expect(!FileManager.default.fileExists(atPath: claim.socket.path))
            try claim.publish()
            #expect(try mode(claim.socket.path) == 0o660 && claim.socket.reach == .live)
            #expect(try files(folder) == ["a.sock", "a.sock.lock"])
            claim.release()
            withExtendedLifetime(listener) {}
        }
    }

    @Test func socketOfAKilledProcessIsReplaced() async throws {
        try await withFolder { folder in
            let path = folder + "/a.sock"
            _ = try Listener(path)
            try Data().write(to: URL(fileURLWithPath: path + ".lock"))
            #expect(ControlSocket(path: path).reach == .nobody)
            let claim = try SocketClaim(ControlSocket(path: path))
            let listener = try Listener(claim.draft)
            try claim.publish()
            #expect(claim.socket.reach == .live)
            withExtendedLifetime(listener) {}
        }
    }

    @Test func socketOfAnotherProcessOutlivesTheEnd() async throws {
        try await withFolder { folder in
            let path = folder + "/a.sock"
            let claim = try SocketClaim(ControlSocket(path: path))
            let own = try Listener(claim.draft)
            try claim.publish()
            // A program that knows no lock takes the path.
            unlink(path)
            let other = try Listener(path)
            claim.release()
            #expect(ControlSocket(path: path).reach == .live)
            #expect(throws: SocketRefusal.self) { try SocketClaim(ControlSocket(path: path)) }
            withExtendedLifetime((own, other)) {}
        }
    }

    @Test func refusedClaimLeavesNothing() async throws {
        try await withFolder { folder in
            let path = folder + "/a.sock"
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            let refusal = #expect(throws: SocketRefusal.self) { try SocketClaim(ControlSocket(path: path)) }
            #expect(refusal?.description.contains("is not a socket") == true && refusal?.isInUse == false)
            #expect(try files(folder) == ["a.sock"])
            let missing = ControlSocket(path: folder + "/missing/a.sock")
            #expect(throws: SocketRefusal.self) { try SocketClaim(missing) }
            // A gateway that ends before it listens leaves nothing, too.
            try FileManager.default.removeItem(atPath: path)
            _ = try SocketClaim(ControlSocket(path: path))
            #expect(try files(folder).isEmpty)
        }
    }

    @Test func longestPathCanBeUsedAndALongerOneIsNamed() async throws {
        try await withFolder { folder in
            let room = ControlSocket.maximumPath - folder.utf8.count - 1
            let claim = try SocketClaim(ControlSocket(path: folder + "/" + String(repeating: "a", count: room)))
            let listener = try Listener(claim.draft)
            try claim.publish()
            #expect(claim.socket.reach == .live)
            let long = ControlSocket(path: claim.socket.path + "a")
            let refusal = #expect(throws: SocketRefusal.self) { try SocketClaim(long) }
            #expect(refusal?.description.contains("RUNTIME_DIRECTORY") == true)
            withExtendedLifetime(listener) {}
        }
    }

    @Test func linkInTheStoreDoesNotReplaceTheSocketItself() async throws {
        try await withFolder { folder in
            let store = folder + "/s"
            try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
            try #require(symlink(store, folder + "/alias") == 0)
            let claim = try SocketClaim(ControlSocket(store: folder + "/alias", environment: [:]))
            let listener = try Listener(claim.draft)
            try claim.publish()
            #expect(claim.link(fromStore: store))
            #expect(ControlSocket.inStore(store).reach == .live && claim.socket.reach == .live)
            claim.removeLink(fromStore: store)
            #expect(claim.socket.reach == .live)
            claim.release()
            #expect(try files(store).isEmpty)
            withExtendedLifetime(listener) {}
        }
    }

    @Test func linkLeadsFromTheStoreAndReplacesNoLiveSocket() async throws {
        try await withFolder { folder in
            let store = folder + "/s"
            try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
            let claim = try SocketClaim(ControlSocket(path: folder + "/a.sock"))
            let listener = try Listener(claim.draft)
            try claim.publish()
            #expect(claim.link(fromStore: store) && ControlSocket.inStore(store) == claim.socket)
            // A link that a killed process left leads elsewhere, and is replaced.
            unlink(store + "/control.sock")
            try #require(symlink(folder + "/old.sock", store + "/control.sock") == 0)
            claim.removeLink(fromStore: store)
            #expect(try files(store) == ["control.sock"])
            #expect(claim.link(fromStore: store) && ControlSocket.inStore(store) == claim.socket)
            claim.removeLink(fromStore: store)
            #expect(try files(store).isEmpty)
            let other = try Listener(store + "/control.sock")
            #expect(!claim.link(fromStore: store))
            #expect(ControlSocket(path: store + "/control.sock").reach == .live)
            withExtendedLifetime((listener, other)) {}
        }
    }
}
