import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

@testable import HoldfastGateway

/// Collects the frames that a protocol like HTTP/2 would send for one request: heads as lists of
/// fields, pieces of content, and the end of the stream or its reset.
final class FrameWriter: ClientResponseWriter {
    enum Frame: Sendable {
        case head(status: Int, WireFields)
        case data([UInt8])
        case endOfStream
        case reset
    }

    private let method: HTTPRequest.Method
    private let service: GatewayService
    private let eventLoop: any EventLoop
    private let end: EventLoopPromise<[Frame]>
    private var written: [Frame] = []
    private var hasContent = true

    init(to method: HTTPRequest.Method, service: GatewayService, eventLoop: any EventLoop) {
        self.method = method
        self.service = service
        self.eventLoop = eventLoop
        end = eventLoop.makePromise()
    }

    /// All frames, when the stream has ended.
    var frames: EventLoopFuture<[Frame]> { end.futureResult }

    func inform(_ head: HTTPResponse) { written.append(.head(status: head.status.code, WireFields(head.headerFields))) }

    func respond(with response: GatewayResponse) {
        switch response {
        case .stored(let head, let content, _), .whole(let head, let content): respond(head, content)
        case .stream(let head, let length): start(head, length: length)
        case .relayed(let response, let context):
            respond(service.responseHead(response.parsedHead(), .relayed, context), response.content)
        }
    }

    func write(_ content: ByteBuffer) -> EventLoopFuture<Void>? {
        if hasContent { written.append(.data(Array(content.readableBytesView))) }
        // Every other piece fills the client's window, which opens in the loop's next round.
        return written.count.isMultiple(of: 2) ? eventLoop.submit {} : nil
    }

    func finish(_ trailers: HTTPFields?) {
        written.append(.endOfStream)
        end.succeed(written)
    }

    func abort() {
        written.append(.reset)
        end.succeed(written)
    }

    private func respond(_ head: GatewayResponseHead, _ content: ByteBuffer) {
        start(head, length: StatedLength(clamping: content.readableBytes))
        if content.readableBytes > 0 { _ = write(content) }
        finish(nil)
    }

    private func start(_ head: GatewayResponseHead, length: StatedLength?) {
        let status = head.response.status.code
        let statesLength = method == .head || status == 304
        hasContent = !statesLength && status != 204
        var fields = WireFields(head.response.headerFields)
        if !statesLength { fields.remove("Content-Length") }
        fields.add("Via", head.via)
        fields.add("Cache-Status", head.cacheStatus)
        if hasContent, let length { fields.add("Content-Length", "\(length)") }
        written.append(.head(status: status, fields))
    }
}

/// The content of a request, in pieces of one byte.
final class PieceContent: RequestContent {
    private var rest: ByteBuffer?
    private let eventLoop: any EventLoop

    init(_ content: ByteBuffer?, eventLoop: any EventLoop) {
        rest = content
        self.eventLoop = eventLoop
    }

    func nextContent() -> EventLoopFuture<ContentDecoder.Event>? {
        eventLoop.makeSucceededFuture(rest?.readSlice(length: 1).map { .body($0) } ?? .end(trailers: nil))
    }

    func discardContent() { rest = nil }
}

extension WireFields {
    fileprivate init(_ fields: HTTPFields) {
        self.init()
        for field in fields { add(field.name.rawName, field.withUnsafeBytesOfValue { String(bytes: $0) }) }
    }
}
