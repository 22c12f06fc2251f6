import Hummingbird
import NIOCore
import NIOHTTP1

/// Time limits for clients that send requests. The number of connections is small, so slow clients
/// would otherwise keep others out.
enum SlowClients {
    /// The limit for the first request head of a connection.
    static let firstHeadLimit = TimeAmount.seconds(10)
    /// The limit for later request heads, counted from the end of the last response.
    static let headLimit = TimeAmount.seconds(30)
    /// The limit for a request's content.
    static let contentLimit = Duration.seconds(30)
    /// The limit for the content of a request that needs no token, which exchanges a code for a
    /// session.
    static let openContentLimit = Duration.seconds(5)
    /// The delay before a connection is closed because its request's content was not read.
    static let rejectedContentLimit = TimeAmount.seconds(5)

    /// Reads a request's content.
    ///
    /// - Throws: ``ControlProblem`` if the content does not arrive in time; `NIOTooManyBytesError`
    ///   if it is too large.
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

    /// Closes a connection after a delay, unless the client closes it first.
    static func close(_ channel: any Channel, in time: TimeAmount = rejectedContentLimit) {
        channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}

/// Closes a connection if its next request head does not arrive in time. Also reports to
/// ``ConnectionPermits`` whether the connection has an authorized request.
///
/// The handler receives complete message parts, so a head that arrives byte by byte counts only
/// when it is complete.
final class HeadDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let admission: ConnectionAdmission?
    private let opens: (_ credentials: [String]) -> Bool
    private var timer: Scheduled<Void>?
    /// The number of requests whose responses have not been written yet.
    private var underWay = 0

    /// Creates a handler for one connection.
    ///
    /// - Parameters:
    ///   - admission: records whether the connection has an authorized request.
    ///   - opens: returns whether the values of a request's `Authorization` fields authorize it.
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
        // A malformed head also gets a response, but was never counted as a request.
        underWay = max(0, underWay - 1)
        // Wait for the write, because a client that is still reading its response is not between
        // two requests.
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
