package import LocalSockets
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Waits for a process that replaces this gateway, and hands over the listeners to it.
/// ``HandoverGiver`` decides.
///
/// Put this service first into its group, so that it ends last: when it ends, it tells the other
/// process that the store is free.
package final class HandoverServer: Service {
    private enum Input: Sendable {
        case connected(HandoverGiver.Connection, user: UInt32?, any Channel)
        case event(HandoverGiver.Event)
        case actions([HandoverGiver.Action])
    }

    /// An open connection.
    private struct Client {
        let channel: any Channel
        var deadline: Scheduled<Void>?
    }

    private let claim: SocketClaim
    private let gateway: any HandingOver
    private let greeting: Duration
    private let logger: Logger
    private let giver: Mutex<HandoverGiver>
    private let lastConnection = Atomic(0)
    private let inputs: AsyncStream<Input>
    private let continuation: AsyncStream<Input>.Continuation

    /// Claims the path of the socket. ``run()`` listens on it.
    ///
    /// - Parameters:
    ///   - user: the ID of the user who may take over.
    ///   - greeting: the time in which a new process has to send its first message.
    /// - Throws: `SocketRefusal` if the path is too long or cannot be used.
    package init(
        at location: SocketLocation,
        user: UInt32,
        gateway: any HandingOver,
        greeting: Duration = HandoverLimits.greeting,
        logger: Logger
    ) throws(SocketRefusal) {
        claim = try SocketClaim(location)
        self.gateway = gateway
        self.greeting = greeting
        self.logger = logger
        giver = Mutex(HandoverGiver(user: user))
        (inputs, continuation) = AsyncStream.makeStream(of: Input.self)
    }

    /// Records that the gateway ends for another reason. Call this before its listeners close. If
    /// another process is ready, it gets the listeners.
    package func gatewayEnds() {
        let actions = giver.withLock { $0.receive(.isEnding) }
        for case .end in actions { gateway.end() }
        continuation.yield(.actions(actions.filter { if case .end = $0 { false } else { true } }))
    }

    /// Serves until its service group shuts down gracefully or its task is canceled.
    package func run() async throws {
        let listener: any Channel
        do {
            listener = try await listen()
        } catch {
            // The library's own text describes its system call, which does not help the user.
            let why = (error as? IOError).map { claim.location.refusal($0.errnoCode).description } ?? "\(error)"
            logger.warning("Handover is not available", metadata: ["handover.error": "\(why)"])
            try? await gracefulShutdown()
            return claim.release()
        }
        await withGracefulShutdownHandler {
            await serve()
        } onGracefulShutdown: { [continuation] in
            continuation.yield(.event(.hasEnded))
        }
        claim.release()
        try? await listener.close()
    }

    private func listen() async throws -> any Channel {
        let channel = try await ServerBootstrap(group: ControlServer.group)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = lastConnection.add(1, ordering: .relaxed).newValue
                    let user = channel.withSocket { PeerUser.id(ofPeer: $0) } ?? nil
                    continuation.yield(.connected(connection, user: user, channel))
                    let handler = HandoverHandler(connection) { [continuation] in continuation.yield(.event($0)) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(unixDomainSocketPath: claim.draft).get()
        do {
            try claim.publish(mode: 0o600)
        } catch {
            try? await channel.close()
            throw error
        }
        return channel
    }

    // MARK: Acting

    private func serve() async {
        var clients: [HandoverGiver.Connection: Client] = [:]
        var draining: Task<Void, Never>?
        for await input in inputs {
            let actions: [HandoverGiver.Action]
            var isLast = false
            switch input {
            case .connected(let connection, let user, let channel):
                let deadline = self.deadline(greeting, connection, channel)
                clients[connection] = Client(channel: channel, deadline: deadline)
                actions = giver.withLock { $0.receive(.connected(connection, user: user)) }
            case .event(let event):
                if case .closed(let connection) = event { clients.removeValue(forKey: connection)?.deadline?.cancel() }
                isLast = event == .hasEnded
                actions = giver.withLock { $0.receive(event) }
            case .actions(let others): actions = others
            }
            for action in actions { await perform(action, &clients, &draining) }
            if isLast { break }
        }
        draining?.cancel()
        for client in clients.values {
            client.deadline?.cancel()
            client.channel.close(promise: nil)
        }
    }

    private func perform(
        _ action: HandoverGiver.Action,
        _ clients: inout [HandoverGiver.Connection: Client],
        _ draining: inout Task<Void, Never>?
    ) async {
        switch action {
        case .refuse(let connection, let reason):
            logger.notice("Handover refused", metadata: ["handover.reason": "\(reason)"])
            let client = clients.removeValue(forKey: connection)
            client?.deadline?.cancel()
            await send(.refused(reason), to: client?.channel)
            client?.channel.close(promise: nil)
        case .offer(let connection):
            guard let channel = clients[connection]?.channel else { return }
            clients[connection]?.deadline?.cancel()
            clients[connection]?.deadline = deadline(HandoverLimits.preparation, connection, channel)
            if let reason = await offer(to: channel) { continuation.yield(.event(.cannotOffer(connection, reason))) }
        case .drain(let connection):
            clients[connection]?.deadline?.cancel()
            logger.notice("Handing over the listeners to another process; finishing the requests in progress")
            draining = Task { [gateway, continuation] in
                await gateway.drain()
                if !Task.isCancelled { continuation.yield(.event(.drained(connection))) }
            }
        case .resume(let reason):
            draining?.cancel()
            await draining?.value
            draining = nil
            await gateway.resume()
            logger.warning("Handover failed; continuing to serve", metadata: ["handover.reason": "\(reason)"])
        case .end: gateway.end()
        case .tellReleased(let connection):
            // The other process needs the path for its own socket.
            claim.release()
            await send(.released, to: clients[connection]?.channel)
        case .reportLoss:
            logger.error("The process that takes over has ended, and this gateway has already stopped; start a gateway")
        }
    }

    private func deadline(
        _ time: Duration,
        _ connection: HandoverGiver.Connection,
        _ channel: any Channel
    ) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: TimeAmount(time)) { [continuation] in
            _ = continuation.yield(.event(.timedOut(connection)))
        }
    }

    private func send(_ message: HandoverMessage, to channel: (any Channel)?) async {
        guard let channel, let bytes = message.bytes else { return }
        try? await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    // MARK: Offering

    /// - Returns: the reason that the listeners cannot be offered.
    private func offer(to channel: any Channel) async -> String? {
        do {
            let listeners = try await gateway.listeners()
            let offer = HandoverOffer(
                listeners: listeners.map {
                    HandoverOffer.Listener(
                        configured: $0.configured,
                        address: $0.address,
                        socketCount: UInt16(clamping: $0.sockets.count),
                        hasLock: $0.lock != nil
                    )
                },
                freed: gateway.freedAddresses,
                drainMilliseconds: UInt32(clamping: gateway.drainTime.components.seconds * 1000)
            )
            guard let bytes = HandoverMessage.offer(offer).bytes else {
                return "The gateway has \(offer.descriptorCount) sockets. The limit is \(HandoverLimits.sockets)."
            }
            let descriptors = listeners.flatMap { $0.sockets + [$0.lock].compactMap(\.self) }
            let isSent = try await channel.eventLoop.submit {
                channel.withSocket { Self.send(bytes, descriptors, to: $0) } ?? false
            }.get()
            return isSent ? nil : "The sockets cannot be sent."
        } catch {
            return "The sockets cannot be copied: \(error)"
        }
    }

    private static func send(_ offer: [UInt8], _ descriptors: [OpenDescriptor], to socket: CInt) -> Bool {
        guard DescriptorMessage.send(offer, to: socket) else { return false }
        var rest = ArraySlice(descriptors)
        while !rest.isEmpty {
            let piece = Array(rest.prefix(DescriptorMessage.limit))
            let message = HandoverMessage.descriptors(UInt8(clamping: piece.count))
            guard let bytes = message.bytes, DescriptorMessage.send(bytes, piece, to: socket) else { return false }
            rest = rest.dropFirst(piece.count)
        }
        return true
    }
}
