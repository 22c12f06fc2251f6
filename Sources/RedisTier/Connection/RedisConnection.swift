package import NIOCore
import NIOPosix

/// A pipelined connection to a server. It sends commands without waiting for replies, and replies
/// arrive in the order of their commands.
///
/// It is thread-safe and does not reconnect: see ``ConnectionSupervisor``. Close it when you no
/// longer need it.
package final class RedisConnection: RedisLink {
    /// The event loop that runs the completions.
    package let eventLoop: any EventLoop
    private let handler: NIOLoopBound<RedisChannelHandler>
    private let list: SubmissionList
    private let budget: FlightBudget
    private let ending: EventLoopFuture<RedisTierError>

    /// Adds the connection's handlers to a channel. Must be called on the channel's event loop.
    ///
    /// - Throws: an NIOSSL error.
    init(_ settings: RedisConnectionSettings, on channel: any Channel) throws {
        eventLoop = channel.eventLoop
        list = SubmissionList()
        budget = FlightBudget(commands: settings.commandCount, bytes: settings.commandBytes)
        let handler = RedisChannelHandler(settings, list: list, budget: budget)
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        if let tls = settings.tls {
            try channel.pipeline.syncOperations.addHandler(tls.handler(for: settings.endpoint))
        }
        let promise = channel.eventLoop.makePromise(of: RedisTierError.self)
        ending = promise.futureResult
        handler.whenEnded(promise)
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            handler.end(.connectionClosed)
            throw error
        }
    }

    /// Connects, with TLS if it is configured, and performs the handshake.
    ///
    /// - Returns: the connection and the server's greeting.
    /// - Throws: ``RedisTierError/Code/unreachable`` or ``RedisTierError/Code/rejected``, or a
    ///   parsing error.
    package static func connect(
        _ settings: RedisConnectionSettings,
        on eventLoop: any EventLoop
    ) async throws(RedisTierError) -> (RedisConnection, ServerGreeting) {
        let connection: RedisConnection
        do {
            connection = try await open(settings, on: eventLoop)
        } catch {
            throw .unreachable(settings.endpoint, error)
        }
        do throws(RedisTierError) {
            return (connection, try await connection.greet(settings))
        } catch {
            connection.close()
            switch error.code {
            case .closed, .timedOut, .busy: throw .unreachable(settings.endpoint, error)
            default: throw error
            }
        }
    }

    /// The maximum number of bytes that are parsed at a time.
    static let longestRead = 32_768

    private static func open(
        _ settings: RedisConnectionSettings,
        on eventLoop: any EventLoop
    ) async throws -> RedisConnection {
        let bootstrap = ClientBootstrap(group: eventLoop).connectTimeout(settings.connectTimeout)
            // A reply with many short values must not block the event loop for long.
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: longestRead)
            )
        let initialize: @Sendable (any Channel) -> EventLoopFuture<RedisConnection> = { channel in
            channel.eventLoop.makeCompletedFuture { try RedisConnection(settings, on: channel) }
        }
        return switch settings.endpoint {
        case .tcp(let host, let port):
            try await bootstrap.connect(host: host, port: port, channelInitializer: initialize)
        case .unix(let path):
            try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initialize)
        }
    }

    private func greet(_ settings: RedisConnectionSettings) async throws(RedisTierError) -> ServerGreeting {
        var handshake = Handshake(credentials: settings.credentials, clientName: settings.clientName)
        var command = handshake.firstCommand
        while true {
            switch handshake.receive(try await execute(command, within: settings.connectTimeout)) {
            case .send(let next): command = next
            case .finish(let greeting): return greeting
            case .fail(let error): throw error
            }
        }
    }

    /// The number of commands in flight, and their bytes.
    var inFlight: (commands: Int, bytes: Int) { (budget.usedCommands, budget.usedBytes) }

    package func send(
        _ command: RedisCommand,
        within time: TimeAmount,
        completion: @escaping ReplyCallback
    ) throws(RedisTierError) {
        let byteCount = command.encodedCount
        try budget.reserve(byteCount)
        let submission = Submission(
            command: command,
            byteCount: byteCount,
            deadline: eventLoop.now + time,
            completion: completion
        )
        do throws(RedisTierError) {
            if eventLoop.inEventLoop { return try handler.value.submit(submission) }
            guard try list.append(submission) else { return }
        } catch {
            budget.release(byteCount)
            throw error
        }
        eventLoop.execute { [handler] in handler.value.takeSubmissions() }
    }

    package func whenClosed(_ action: @escaping @Sendable (RedisTierError) -> Void) {
        ending.whenSuccess(action)
    }

    package func close() {
        eventLoop.execute { [handler] in
            handler.value.end(RedisTierError(.closed, "This node closed the connection."))
        }
    }
}

extension RedisTierError {
    fileprivate static func unreachable(_ endpoint: RedisEndpoint, _ cause: any Error) -> RedisTierError {
        RedisTierError(.unreachable, "The server '\(endpoint)' is unreachable: \(RedisTierError.clause(cause)).")
    }
}
