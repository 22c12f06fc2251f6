/// The first commands of a connection: `HELLO 3` with credentials and client name, in one round
/// trip. If the server has no `HELLO` (Redis before version 6), the handshake uses `AUTH`, `CLIENT
/// SETNAME` and RESP2.
///
/// <https://redis.io/docs/latest/commands/hello/>
struct Handshake {
    /// The action for a reply.
    enum Action {
        case send(RedisCommand)
        case finish(ServerGreeting)
        case fail(RedisTierError)
    }

    private enum Step {
        case hello, authentication, name
    }

    private let credentials: RedisCredentials?
    private let clientName: String?
    private var step = Step.hello

    init(credentials: RedisCredentials?, clientName: String?) {
        self.credentials = credentials
        self.clientName = clientName
    }

    var firstCommand: RedisCommand {
        var arguments: [RedisCommand.Argument] = [3]
        if let credentials {
            arguments += ["AUTH", .text(credentials.user ?? "default"), .text(credentials.password)]
        }
        if let clientName { arguments += ["SETNAME", .text(clientName)] }
        return RedisCommand("HELLO", arguments)
    }

    mutating func receive(_ reply: RESPValue) -> Action {
        switch (step, reply) {
        case (.hello, .error(let error)) where error.isOfMissingHello: return authenticate()
        case (_, .error(let error)):
            return .fail(
                RedisTierError(
                    .rejected,
                    "The server rejected the handshake with '\(error.code)'. Check the user, the password and the client name."
                )
            )
        case (.hello, let reply):
            guard case .map = reply, let greeting = ServerGreeting(reply) else { return .fail(.unexpectedReply) }
            return .finish(greeting)
        case (.authentication, .simpleString): return setName()
        case (.name, .simpleString): return .finish(.withoutHello)
        default: return .fail(.unexpectedReply)
        }
    }

    private mutating func authenticate() -> Action {
        guard let credentials else { return setName() }
        step = .authentication
        let user = credentials.user.map { [RedisCommand.Argument.text($0)] } ?? []
        return .send(RedisCommand("AUTH", user + [.text(credentials.password)]))
    }

    private mutating func setName() -> Action {
        guard let clientName else { return .finish(.withoutHello) }
        step = .name
        return .send(RedisCommand("CLIENT", "SETNAME", .text(clientName)))
    }
}

/// The server's description of itself.
package struct ServerGreeting: Sendable, Hashable {
    /// The protocol version: 3, or 2 if the server has no `HELLO`.
    package var protocolVersion: Int
    /// The server's version, such as `7.0.15`; `nil` if the server has no `HELLO`.
    package var version: String?
    /// The role, `master` or `replica`; `nil` if the server has no `HELLO`.
    package var role: String?

    static let withoutHello = ServerGreeting(protocolVersion: 2)
}

extension ServerGreeting {
    fileprivate init?(_ reply: RESPValue) {
        protocolVersion = 0
        for entry in reply.entries ?? [] {
            switch entry.key.text {
            case "proto":
                guard case .integer(let number) = entry.value else { return nil }
                protocolVersion = Int(clamping: number)
            case "version": version = entry.value.text
            case "role": role = entry.value.text
            default: break
            }
        }
        guard protocolVersion == 3 else { return nil }
    }
}

extension RESPServerError {
    fileprivate var isOfMissingHello: Bool {
        code == "NOPROTO" || code == "ERR" && text.lowercased().hasPrefix("err unknown command")
    }
}

extension RedisTierError {
    fileprivate static let unexpectedReply = RedisTierError(
        .unexpected,
        "The server sent a reply of the wrong type in the handshake. The connection was closed."
    )
}
