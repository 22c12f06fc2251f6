import EventLoops
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore
import OriginConnections

/// Writes the responses on a client's HTTP/1 connection in order, except those of the hot table,
/// which are complete. RFC 9112
///
/// It offers the bytes of stored responses to the hot table, and writes relayed responses as they
/// were received.
final class HTTP1ResponseWriter: ClientResponseWriter {
    private let service: GatewayService
    private let eventLoop: any EventLoop
    private let output: ConnectionOutput
    /// `nil` before the connection opens and after it ends.
    var requests: RequestSequence?
    /// The method of the current request; `nil` if no valid request could be read.
    private var method: HTTPRequest.Method?
    private var minorVersion = 1
    /// How the current response's content is delimited; `nil` until its head is written.
    private var framing: ResponseFraming?

    init(service: GatewayService, eventLoop: any EventLoop, output: ConnectionOutput) {
        self.service = service
        self.eventLoop = eventLoop
        self.output = output
    }

    /// Prepares for the response to a request.
    ///
    /// - Parameter head: `nil` if no valid request could be read.
    func begin(_ head: RequestHead?) {
        method = head?.request.method
        minorVersion = if case .http10 = head?.request.receivedProtocol { 0 } else { 1 }
        framing = nil
    }

    // MARK: One response

    func inform(_ head: HTTPResponse) {
        // HTTP/1.0 has no interim responses.
        guard minorVersion > 0 else { return }
        output.put(
            .head { bytes in
                bytes.writeStatusLine(head.status)
                // An interim response has no content, so it has no length either. RFC 9110 §8.6
                bytes.writeFields(head.headerFields) { $0 != "content-length" }
                bytes.writeEndOfHead()
            }
        )
        output.flush()
    }

    func respond(with response: GatewayResponse) {
        switch response {
        case .stored(let head, let content, let candidate):
            respond(head, content, candidate)
        case .whole(let head, let content):
            respond(head, content)
        case .stream(let head, let length):
            output.put(beginContent(head.response.status.code, length: length).bytes(of: head))
        case .relayed(let response, let context):
            // The engine does not know HTTP/1. The response's type shows whether its bytes can be
            // relayed. They include the origin's fields, but not this request's ID.
            if context.requestID == nil, let message = response as? RelayedMessage {
                relay(message, context)
            } else {
                respond(service.responseHead(response.parsedHead(), .relayed, context), response.content)
            }
        }
        output.flushSoon()
    }

    func write(_ content: ByteBuffer) -> EventLoopFuture<Void>? {
        do throws(ResponseContent.Overrun) {
            guard let bytes = try framing?.bytes(of: content) else { return nil }
            output.put(bytes)
        } catch {
            abort()
            return eventLoop.makeFailedFuture(CancellationError())
        }
        return output.untilWritable()
    }

    func finish(_ trailers: HTTPFields?) {
        guard framing?.isComplete != false else { return abort() }
        if let end = framing?.end(trailers) { output.put(end) }
        let closes = framing?.closes ?? false
        framing = nil
        requests?.endResponse(keepingAlive: !closes)
        output.flushSoon()
    }

    func beginUpgrade() { requests?.beginUpgrade() }

    func beginTunnel(
        _ head: GatewayResponseHead,
        _ protocolName: String,
        _ tunnel: Tunnel,
        _ origin: TunnelOrigin,
        _ permit: SharedPermits.Permit
    ) {
        guard let requests else {
            origin.channel.close(promise: nil)
            return tunnel.endFromOutside()
        }
        output.put(
            .head { bytes in
                bytes.writeStatusLine(head.response.status)
                bytes.writeField("Connection", "upgrade")
                bytes.writeField("Upgrade", protocolName)
                bytes.writeFields(head)
                bytes.writeEndOfHead()
            }
        )
        output.flush()
        requests.beginTunnel(tunnel, origin, permit)
    }

    /// Ends the connection so that the client cannot mistake the response for a complete one. RFC
    /// 9112 §8
    func abort() {
        // If the end of the connection marks the end of the content, only a reset shows that the
        // content is incomplete.
        output.abort(resetting: framing?.endsWithConnection == true)
    }

    /// Decides how the response's content and the connection are delimited. RFC 9112 §6
    private func beginContent(_ code: Int, length: StatedLength?) -> ResponseFraming {
        let framing = ResponseFraming(
            code,
            to: method,
            minorVersion: minorVersion,
            length: length,
            isKeptAlive: requests?.isKeptAlive ?? false
        )
        self.framing = framing
        return framing
    }

    private func respond(_ head: GatewayResponseHead, _ content: ByteBuffer, _ candidate: HotCandidate? = nil) {
        let length = StatedLength(clamping: content.readableBytes)
        let framing = beginContent(head.response.status.code, length: length)
        if let candidate, minorVersion > 0, !framing.closes {
            let (bytes, places) = framing.bytesAndOffsets(of: head)
            if let template = HeadTemplate(bytes, places) { candidate.keep(head, content, as: .http1(template)) }
            output.put(bytes)
        } else {
            output.put(framing.bytes(of: head))
        }
        finish(with: content)
    }

    /// Writes the complete content, unless it was written with the head, and ends the response.
    private func finish(with content: ByteBuffer, isWritten: Bool = false) {
        if let bytes = try? framing?.bytes(of: content), !isWritten { output.put(bytes) }
        output.holdBack()
        finish(nil)
    }

    /// Writes a complete response as it was received.
    private func relay(_ response: RelayedMessage, _ context: GatewayService.ResponseContext) {
        let content = response.content
        let isShort = content.readableBytes <= RelayedMessage.shortContent
        let framing = beginContent(response.status, length: StatedLength(clamping: response.contentLength))
        output.put(
            framing.bytes(
                of: response,
                date: response.hasDate ? nil : service.date,
                via: context.inForce.via,
                cacheStatus: context.relayedCacheStatus,
                content: isShort ? content : nil
            )
        )
        finish(with: content, isWritten: isShort)
    }
}
