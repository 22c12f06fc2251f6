import Dispatch
import Foundation
import HoldfastTesting
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import RedisTier

/// Connections over real sockets to a peer that does as told.
@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// Greets, and continues as a script says.
    private func withPeer(
        unix: Bool = false,
        stallLimit: TimeAmount = .patient,
        _ script: @escaping ScriptedPeer.Script,
        test body: (RedisConnection) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let peer = try ScriptedPeer(unix: unix ? "\(folder.path)/peer.sock" : nil) { connection in
                try connection.greet()
                try script(connection)
            }
            var settings = RedisConnectionSettings.patient(peer.endpoint)
            settings.stallLimit = stallLimit
            let (connection, greeting) = try await RedisConnection.connect(settings, on: loop)
            #expect(greeting == ServerGreeting(protocolVersion: 3, version: "7.0.15", role: "master"))
            try await body(connection)
            connection.close()
            peer.stop()
        }
    }

    private func get(_ connection: RedisConnection, _ name: String) async throws(RedisTierError) -> RESPValue {
        try await connection.execute(RedisCommand("GET", .text(name)), within: .patient)
    }

    @Test(arguments: [false, true]) func repliesComeBack(_ unix: Bool) async throws {
        try await withPeer(unix: unix) { connection in
            while true {
                let command = try connection.command()
                try connection.write(
                    command[1] == "bad" ? "-WRONGTYPE no\r\n" : "$\(command[1].utf8.count)\r\n\(command[1])\r\n"
                )
            }
        } test: { connection async throws in
            #expect(try await get(connection, "a") == .bulk("a"))
            // An error reply is a value, and the connection continues.
            #expect(try await get(connection, "bad") == .failed("WRONGTYPE no"))
            #expect(try await get(connection, "b") == .bulk("b"))
        }
    }

    @Test func thirtyCallersGetTheirOwnReplies() async throws {
        try await withPeer { connection in
            while true {
                let word = try connection.command()[1]
                // Pushes between the replies, and replies in pieces.
                if word.hasSuffix("7") { try connection.write(">2\r\n+message\r\n+x\r\n") }
                try connection.write("$\(word.utf8.count)\r\n\(word.prefix(2))")
                try connection.write("\(word.dropFirst(2))\r\n")
            }
        } test: { connection async throws in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for caller in 0..<30 {
                    group.addTask {
                        var count = 0
                        for number in 0..<50
                        where try await get(connection, "\(caller)-\(number)") == .bulk("\(caller)-\(number)") {
                            count += 1
                        }
                        return count
                    }
                }
                for try await count in group { #expect(count == 50) }
            }
            #expect(connection.inFlight == (0, 0))
        }
    }

    @Test func stalledServerTimesOutAndItsLateReplyIsDropped() async throws {
        let signal = DispatchSemaphore(value: 0)
        try await withPeer { connection in
            _ = try connection.command()
            signal.wait()
            _ = try connection.command()
            try connection.write("+late\r\n+good\r\n")
            try connection.waitForClose()
        } test: { connection async throws in
            let late = await errorCode { () throws(RedisTierError) in
                _ = try await connection.execute(RedisCommand("GET", "a"), within: .milliseconds(20))
            }
            #expect(late == .timedOut)
            signal.signal()
            #expect(try await get(connection, "b") == .simple("good"))
        }
    }

    @Test func stallClosesTheConnection() async throws {
        try await withPeer(stallLimit: .milliseconds(20)) { connection in
            try connection.waitForClose()
        } test: { connection async throws in
            // The second time is over at last if nothing closes the connection.
            let replies = try await replies(of: connection, to: [.milliseconds(20), .seconds(60)])
            #expect(replies.first == "0 timedOut")
            let code = await errorCode { () throws(RedisTierError) in
                _ = try await connection.execute(RedisCommand("GET", "c"), within: .milliseconds(1))
            }
            try #require(code == .closed)
            #expect(await connection.firstEnd().value.code == .closed)
        }
    }

    @Test(arguments: ["", "$10\r\nhal", "$10\r", "*3\r\n:1\r\n:2\r\n", ">2\r\n+x\r\n"])
    func cutConnectionFailsAllThatWait(_ bytes: String) async throws {
        try await withPeer { connection in
            for _ in 0..<5 { _ = try connection.command() }
            try connection.write("+first\r\n" + bytes)
        } test: { connection async throws in
            let replies = try await replies(of: connection, to: Array(repeating: .patient, count: 5))
            #expect(replies == ["0 first", "1 closed", "2 closed", "3 closed", "4 closed"])
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "$3\r\nabcd\r\n", "+a\n", "\0\0\0\0"])
    func garbageFailsAllThatWait(_ bytes: String) async throws {
        try await withPeer { connection in
            for _ in 0..<5 { _ = try connection.command() }
            try connection.write("+first\r\n" + bytes)
            try connection.waitForClose()
        } test: { connection async throws in
            let replies = try await replies(of: connection, to: Array(repeating: .patient, count: 5))
            #expect(replies == ["0 first", "1 malformed", "2 malformed", "3 malformed", "4 malformed"])
            #expect(await connection.firstEnd().value.code == .malformed)
            #expect(await errorCode { () throws(RedisTierError) in _ = try await get(connection, "x") } == .malformed)
        }
    }

    /// Sends commands in order, with these times, and waits for the end of all.
    private func replies(of connection: RedisConnection, to times: [TimeAmount]) async throws -> [String] {
        let replies = ReplyRecorder()
        let group = DispatchGroup()
        for (number, time) in times.enumerated() {
            group.enter()
            let callback = replies.callback("\(number)")
            try connection.send(RedisCommand("GET", .integer(number)), within: time) { result in
                callback(result)
                group.leave()
            }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        return replies.all
    }

    @Test func cancelledTaskWaitsNoLonger() async throws {
        let (asked, signal) = AsyncStream.makeStream(of: Void.self)
        let answered = DispatchSemaphore(value: 0)
        try await withPeer { connection in
            _ = try connection.command()
            signal.finish()
            answered.wait()
            try connection.write("+late\r\n")
            _ = try connection.command()
            try connection.write("+good\r\n")
            try connection.waitForClose()
        } test: { connection async throws in
            let task = Task { await errorCode { () throws(RedisTierError) in _ = try await get(connection, "a") } }
            for await _ in asked {}
            task.cancel()
            #expect(await task.value == .cancelled)
            answered.signal()
            #expect(try await get(connection, "b") == .simple("good"))
        }
    }

    @Test func serverWithoutHelloIsSpokenToInRESP2() async throws {
        let peer = try ScriptedPeer { connection in
            while true {
                let command = try connection.command()
                switch command[0] {
                case "HELLO": try connection.write("-ERR unknown command `HELLO`, with args beginning with: \r\n")
                case "AUTH", "CLIENT": try connection.write("+OK\r\n")
                default: try connection.write("$-1\r\n")
                }
            }
        }
        var settings = RedisConnectionSettings.patient(peer.endpoint)
        settings.credentials = RedisCredentials(password: "pw")
        settings.clientName = "gw-1"
        let (connection, greeting) = try await RedisConnection.connect(settings, on: loop)
        #expect(greeting.protocolVersion == 2)
        #expect(try await get(connection, "a") == .null)
        connection.close()
    }

    /// Mutant: a connection keeps the password with which the program started.
    @Test func nextConnectionUsesAReplacedPassword() async throws {
        let passwords = Mutex<[String]>([])
        let peer = try ScriptedPeer { connection in
            let hello = try connection.command()
            passwords.withLock { $0.append(hello.joined(separator: " ")) }
            try connection.write("%1\r\n$5\r\nproto\r\n:3\r\n")
            while true {
                _ = try connection.command()
                try connection.write("$-1\r\n")
            }
        }
        var settings = RedisConnectionSettings.patient(peer.endpoint)
        settings.credentials = RedisCredentials(user: "app", password: "old")
        let (first, _) = try await RedisConnection.connect(settings, on: loop)
        // Copies share the password, as the connector's directories and pools have copies.
        let copy = settings.credentials
        copy?.replacePassword(with: "new")
        let (second, _) = try await RedisConnection.connect(settings, on: loop)
        // The open connection stays in use.
        for connection in [first, second] {
            #expect(try await get(connection, "a") == .null)
            connection.close()
        }
        #expect(passwords.withLock { $0 } == ["HELLO 3 AUTH app old", "HELLO 3 AUTH app new"])
        peer.stop()
    }

    @Test(arguments: [
        (RedisTierError.Code.rejected, "-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
        (.unexpected, "+OK\r\n"), (.malformed, "SSH-2.0-OpenSSH_9.2\r\n"), (.limit(.bulkLength), "$1048577\r\n"),
        (.unreachable, ""),
    ])
    func failedHandshakeIsAnError(_ code: RedisTierError.Code, _ bytes: String) async throws {
        let peer = try ScriptedPeer { connection in
            _ = try connection.command()
            try connection.write(bytes)
            if !bytes.isEmpty { try connection.waitForClose() }
        }
        let seen = await errorCode { () throws(RedisTierError) in
            _ = try await RedisConnection.connect(.patient(peer.endpoint), on: loop)
        }
        #expect(seen == code)
    }

    @Test func serverThatIsSilentOrGoneIsUnreachable() async throws {
        let peer = try ScriptedPeer { try $0.waitForClose() }
        var settings = RedisConnectionSettings.patient(peer.endpoint)
        settings.connectTimeout = .milliseconds(50)  // passes
        let silent = settings
        #expect(
            await errorCode { () throws(RedisTierError) in _ = try await RedisConnection.connect(silent, on: loop) }
                == .unreachable
        )
        let held = try HeldPort()
        for endpoint in [
            RedisEndpoint.unix(path: "/tmp/no-such.sock"), .tcp(host: "127.0.0.1", port: held.port),
        ] {
            let code = await errorCode { () throws(RedisTierError) in
                _ = try await RedisConnection.connect(.patient(endpoint), on: loop)
            }
            #expect(code == .unreachable)
        }
        withExtendedLifetime(held) {}
    }
}

extension RedisConnection {
    /// The reason of its end.
    func firstEnd() -> Task<RedisTierError, Never> {
        Task {
            await withCheckedContinuation { continuation in
                whenClosed { continuation.resume(returning: $0) }
            }
        }
    }
}
