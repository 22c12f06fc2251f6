import Hummingbird
import NIOCore
import NIOHTTP1

/// The times in which a client must send. Few connections are served at a time, so that slow ones
/// would keep others out.
enum SlowClients {
    /// For the first head of a connection.
    static let firstHeadLimit = TimeAmount.seconds(10)
    /// For a further head, from the last response on.
    static let headLimit = TimeAmount.seconds(30)
    /// For a request's content.
    static let contentLimit = Duration.seconds(30)
    /// For the content of a request that no token opens: a code for a session.
    static let openContentLimit = Duration.seconds(5)
    /// For the content of a request that was rejected before it was read.
    static let rejectedContentLimit = TimeAmount.seconds(5)

    /// Reads a request's content.
    ///
    /// - Throws: ``ControlProblem`` if it takes too long; `NIOTooManyBytesError`.
    static func content(
        of request: Request,
        upTo limit: Int,
        within time: Duration = contentLimit
    ) async throws -> [UInt8] {
        let body = request.body
        return try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            defer { group.cancelAll() }
            group.addTask { Array(try await body.collect(upTo: limit).readableBytesView) }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            if let content = try await group.next() ?? nil { return content }
            throw ControlProblem(
                .tooSlow,
                "The content did not arrive within the limit of \(time.components.seconds) s. Repeat the request.",
                limit: Int(time.components.seconds)
            )
        }
    }

    /// Closes a connection after a time, unless the client has closed it before.
    static func close(_ channel: any Channel, in time: TimeAmount = rejectedContentLimit) {
        channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}

/// Closes a connection whose next head does not come in time, and says what the connection has: a
/// request that a token opens, or none (``ConnectionPermits``).
///
/// It sees parts of requests, so a head that comes byte by byte is nothing until it is whole.
final class HeadDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let admission: ConnectionAdmission?
    private let opens: (_ credentials: [String]) -> Bool
    private var timer: Scheduled<Void>?
    /// The requests whose responses are not yet written.
    private var underWay = 0

    /// - Parameters:
    ///   - admission: learns what the connection has.
    ///   - opens: whether the values of a request's `Authorization` open it.
    init(_ admission: ConnectionAdmission?, opens: @escaping (_ credentials: [String]) -> Bool) {
        self.admission = admission
        self.opens = opens
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop(context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        timer?.cancel()
        if case .head(let head) = unwrapInboundIn(data) {
            underWay += 1
            if opens(head.headers["authorization"]) { admission?.open(context.channel) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        restart(context, SlowClients.headLimit)
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        // A head that cannot be read has a response too.
        underWay = max(0, underWay - 1)
        // A client that still reads its response does not wait for the next request.
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        written.futureResult.assumeIsolated().whenSuccess { [self] in
            if channel.isActive, underWay == 0 { wait(channel) }
        }
        context.write(data, promise: written)
    }

    private func start(_ context: ChannelHandlerContext) {
        restart(context, SlowClients.firstHeadLimit)
        wait(context.channel)
    }

    private func wait(_ channel: any Channel) {
        admission?.admit(channel, of: ClientNetwork(channel.remoteAddress?.ipAddress))
    }

    private func stop(_ context: ChannelHandlerContext) {
        timer?.cancel()
        admission?.remove(context.channel)
    }

    private func restart(_ context: ChannelHandlerContext, _ limit: TimeAmount) {
        timer?.cancel()
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }
}
