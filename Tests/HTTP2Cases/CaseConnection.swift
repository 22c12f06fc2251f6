import NIOCore
import NIOPosix
import Synchronization

/// A client's TCP connection: raw bytes in both directions.
final class CaseConnection: Sendable {
    enum Event: Sendable {
        case bytes([UInt8])
        case closed
        case timedOut
    }

    private struct State {
        var bytes: [UInt8] = []
        var isClosed = false
        var waiter: (number: Int, continuation: CheckedContinuation<Event, Never>)?
        var waits = 0
    }

    private let channel: any Channel
    private let inbox: Inbox

    private init(_ channel: any Channel, _ inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    static func open(host: String, port: Int, group: any EventLoopGroup) async throws -> CaseConnection {
        let inbox = Inbox()
        let channel = try await ClientBootstrap(group: group)
            // A busy machine may take longer than the ten seconds of NIO.
            .connectTimeout(.hours(1))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // The server's last frames are read although it takes no more.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
                }
            }
            .connect(host: host, port: port)
            .get()
        return CaseConnection(channel, inbox)
    }

    /// Sends bytes. An error is none: a server that has ended the connection takes no more, and
    /// what it has sent decides.
    func send(_ bytes: [UInt8]) async {
        guard !bytes.isEmpty else { return }
        try? await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// The next bytes of the server.
    func next(within limit: TimeAmount) async -> Event {
        await withCheckedContinuation { continuation in
            guard let number = inbox.wait(continuation) else { return }
            let inbox = inbox
            let timer = channel.eventLoop.scheduleTask(in: limit) { inbox.giveUp(number) }  // a guard
            inbox.keep(timer, for: number)
        }
    }

    func close() async { try? await channel.close() }

    /// The bytes that came, and the task that waits for more.
    private final class Inbox: Sendable {
        private let state = Mutex(State())
        private let timer = Mutex<(number: Int, task: Scheduled<Void>)?>(nil)

        /// - Returns: the number of the wait; `nil` if it is over.
        func wait(_ continuation: CheckedContinuation<Event, Never>) -> Int? {
            let (event, number): (Event?, Int) = state.withLock { state in
                state.waits += 1
                if !state.bytes.isEmpty {
                    defer { state.bytes = [] }
                    return (.bytes(state.bytes), state.waits)
                }
                if state.isClosed { return (.closed, state.waits) }
                state.waiter = (state.waits, continuation)
                return (nil, state.waits)
            }
            guard let event else { return number }
            continuation.resume(returning: event)
            return nil
        }

        func keep(_ task: Scheduled<Void>, for number: Int) {
            let isOver = state.withLock { $0.waiter?.number != number }
            if isOver { task.cancel() } else { timer.withLock { $0 = (number, task) } }
        }

        func giveUp(_ number: Int) {
            state.withLock { state -> CheckedContinuation<Event, Never>? in
                guard state.waiter?.number == number else { return nil }
                return state.waiter.take()?.continuation
            }?.resume(returning: .timedOut)
        }

        func receive(_ bytes: [UInt8]) {
            resume(
                state.withLock { state in
                    guard let waiter = state.waiter.take() else {
                        state.bytes += bytes
                        return nil
                    }
                    return waiter.continuation
                },
                .bytes(bytes)
            )
        }

        func end() {
            resume(
                state.withLock { state in
                    state.isClosed = true
                    return state.waiter.take()?.continuation
                },
                .closed
            )
        }

        private func resume(_ continuation: CheckedContinuation<Event, Never>?, _ event: Event) {
            guard let continuation else { return }
            timer.withLock { $0.take() }?.task.cancel()
            continuation.resume(returning: event)
        }
    }

    private final class InboxHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let inbox: Inbox

        init(_ inbox: Inbox) { self.inbox = inbox }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            inbox.receive(Array(unwrapInboundIn(data).readableBytesView))
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent { inbox.end() }
            context.fireUserInboundEventTriggered(event)
        }

        func channelInactive(context: ChannelHandlerContext) {
            inbox.end()
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
