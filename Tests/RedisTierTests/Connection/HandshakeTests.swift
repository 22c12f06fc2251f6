import NIOCore
import Testing

@testable import RedisTier

/// Handshake, as a value.
@Suite(.timeLimit(.minutes(20))) struct HandshakeTests {
    /// The commands that are sent to a server with these replies, and the result.
    private func played(
        _ replies: [RESPValue],
        _ credentials: RedisCredentials? = nil,
        name: String? = nil
    ) -> [String] {
        var handshake = Handshake(credentials: credentials, clientName: name)
        var seen = [words(handshake.firstCommand)]
        for reply in replies {
            switch handshake.receive(reply) {
            case .send(let command): seen.append(words(command))
            case .finish(let greeting): seen.append("RESP\(greeting.protocolVersion) \(greeting.version ?? "?")")
            case .fail(let error): seen.append("\(error.code)")
            }
        }
        return seen
    }

    private func words(_ command: RedisCommand) -> String {
        ([command.name] + command.arguments.map { if case .text(let text) = $0 { text } else { "3" } })
            .joined(separator: " ")
    }

    private let greeting = RESPValue.map([
        RESPEntry(key: .bulk("server"), value: .bulk("redis")),
        RESPEntry(key: .bulk("version"), value: .bulk("7.0.15")),
        RESPEntry(key: .bulk("proto"), value: .integer(3)), RESPEntry(key: .bulk("modules"), value: .array([])),
    ])
    private let unknown = RESPValue.failed("ERR unknown command `HELLO`, with args beginning with: `3`, ")

    @Test func oneRoundTripWithHello() {
        #expect(played([greeting]) == ["HELLO 3", "RESP3 7.0.15"])
        let alice = RedisCredentials(user: "alice", password: "pw")
        #expect(played([greeting], alice, name: "gw") == ["HELLO 3 AUTH alice pw SETNAME gw", "RESP3 7.0.15"])
        #expect(played([greeting], RedisCredentials(password: "pw")).first == "HELLO 3 AUTH default pw")
    }

    @Test func serverWithoutHelloSpeaksRESP2() {
        #expect(played([unknown]) == ["HELLO 3", "RESP2 ?"])
        #expect(played([.failed("NOPROTO unsupported protocol version")]) == ["HELLO 3", "RESP2 ?"])
        #expect(
            played([unknown, .simple("OK"), .simple("OK")], RedisCredentials(password: "pw"), name: "gw")
                == ["HELLO 3 AUTH default pw SETNAME gw", "AUTH pw", "CLIENT SETNAME gw", "RESP2 ?"]
        )
        #expect(
            played([unknown, .simple("OK")], RedisCredentials(user: "alice", password: "pw")).dropFirst()
                == ["AUTH alice pw", "RESP2 ?"]
        )
    }

    @Test func rejectionEndsIt() {
        #expect(played([.failed("WRONGPASS invalid")]).last == "rejected")
        #expect(played([.failed("NOAUTH HELLO must be called")]).last == "rejected")
        #expect(played([.failed("ERR Client names cannot contain spaces")], name: "a b").last == "rejected")
        #expect(played([unknown, .failed("ERR invalid password")], RedisCredentials(password: "x")).last == "rejected")
    }

    @Test(arguments: [
        RESPValue.simple("OK"), .null, .integer(3), .array([]), .map([]),
        .map([RESPEntry(key: .bulk("proto"), value: .integer(2))]),
        .map([RESPEntry(key: .bulk("proto"), value: .bulk("3"))]),
    ])
    func strangeReplyEndsIt(_ reply: RESPValue) {
        #expect(played([reply]).last == "unexpected")
        #expect(played([unknown, reply == .simple("OK") ? .null : reply], name: "gw").last == "unexpected")
    }
}
