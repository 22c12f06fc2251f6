import Hummingbird
import NIOCore

/// The times in which a client must send. Few connections are served at a time, so that slow ones
/// would keep others out.
enum SlowClients {
    /// For a request's head, from the connection's start or from the last response on.
    static let headLimit = TimeAmount.seconds(30)
    /// For a request's head while another client needs the place. ``ConnectionPlaces``
    static let grace = TimeAmount.seconds(1)
    /// For a request's content.
    static let contentLimit = Duration.seconds(30)
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
                "The content did not come within \(time.components.seconds) s, which is the limit. Repeat the request.",
                limit: Int(time.components.seconds)
            )
        }
    }

    /// Closes a connection after a time, unless the client has closed it before.
    static func close(_ channel: any Channel, in time: TimeAmount = rejectedContentLimit) {
        channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}

/// Closes a connection whose next head does not come in time. It sees parts of requests, so a head
/// that comes byte by byte is nothing until it is whole.
final class HeadDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let limit: TimeAmount
    /// Learns which connections wait for a head.
    private let admission: ConnectionAdmission?
    private var timer: Scheduled<Void>?

    init(limit: TimeAmount = SlowClients.headLimit, _ admission: ConnectionAdmission? = nil) {
        self.limit = limit
        self.admission = admission
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
        admission?.endWaiting(context.channel)
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        restart(context)
        guard let admission else { return context.write(data, promise: promise) }
        // A client that still reads its response does not wait for the next request.
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        written.futureResult.whenSuccess {
            if channel.isActive { admission.beginWaiting(channel) }
        }
        context.write(data, promise: written)
    }

    private func start(_ context: ChannelHandlerContext) {
        restart(context)
        admission?.beginWaiting(context.channel)
    }

    private func stop(_ context: ChannelHandlerContext) {
        timer?.cancel()
        admission?.endWaiting(context.channel)
    }

    private func restart(_ context: ChannelHandlerContext) {
        timer?.cancel()
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }
}
