import CNGHTTP2
import HTTPCache
import HTTPTypes
import NIOCore

/// The meaning of frames.
extension HTTP2Connection {
    /// A frame begins, of which only the first nine bytes have come.
    func beginFrame(_ frame: nghttp2_frame_hd) {
        let flags = UInt32(frame.flags)
        switch UInt32(frame.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_CONTINUATION.rawValue:
            if fieldsSince == nil { fieldsSince = now }
            // The fields are complete with the last of these frames.
            if UInt32(frame.type) == NGHTTP2_CONTINUATION.rawValue { spend(.frame) }
        case NGHTTP2_RST_STREAM.rawValue:
            fieldsSince = nil
            spend(streams[frame.stream_id]?.exchange == nil ? .frame : .reset)
        case NGHTTP2_DATA.rawValue:
            fieldsSince = nil
            if frame.length == 0, flags & NGHTTP2_FLAG_END_STREAM.rawValue == 0 { spend(.frame) }
        default:
            fieldsSince = nil
            spend(.frame)
        }
    }

    func spend(_ cost: HTTP2Patience.Cost) {
        if !patience.spend(cost, at: now) { frames?.terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
    }

    /// The fields of a stream begin: those of a request, or of its trailer section.
    func beginFields() { section.clear() }

    /// - Returns: `false` if they are too many.
    func take(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        section.append(name, value)
    }

    /// The fields of a request are complete.
    func beginRequest(_ id: Int32, endsStream: Bool) {
        fieldsSince = nil
        guard let frames else { return }
        let trace = session.drawTrace()
        let key = endsStream && trace == nil ? section.lookupKey.map { session.hotKey(of: $0) } : nil
        if let key, respondHot(id, key, frames) { return }
        let configuration = service.configuration
        guard let permit = permits.take(ofAll: configuration.maximumConnections) else {
            return frames.reset(id, NGHTTP2_REFUSED_STREAM)
        }
        let at = ExchangeRecord.Ordinal(connection: number, request: requestCount + 1)
        requestCount += 1
        let pace = UploadPace(rate: configuration.uploadRate, patience: configuration.timeouts.slowContent.timeAmount)
        do throws(MessageRefusal) {
            let head = try section.head(endsStream: endsStream)
            let stream = HTTP2Stream(id, on: self, head, permit, pace)
            streams[id] = stream
            enter(.active)
            let exchange = ClientExchange(
                head.request,
                of: session,
                content: stream,
                to: stream,
                in: trace,
                since: now,
                at: at
            )
            stream.exchange = exchange
            // An equal request gets a span too, so the response is not kept for it.
            if let key, exchange.trace.span == nil { stream.hotKey = key }
            exchange.begin()
            stream.hotKey = nil
        } catch {
            // To decode them is more work than their bytes are.
            if [.fieldsTooLarge, .startLineTooLong].contains(error.reason) { spend(.fields(section.decodedCount)) }
            let stream = HTTP2Stream(id, on: self, nil, permit, pace)
            streams[id] = stream
            stream.respond(with: session.refuse(error, since: now, at: at))
        }
    }

    /// Writes the response that an equal request got before, if it is still valid.
    ///
    /// - Returns: whether it did.
    private func respondHot(_ id: Int32, _ key: HotKey, _ frames: HTTP2Session) -> Bool {
        // A stream without an object has no time of its own, so its client must take all of the
        // content at once.
        guard let response = session.hot.response(to: key), response.contentLength <= frames.window(of: id)
        else { return false }
        guard let fields = response.fields(at: service.engine.now, service.engine) else {
            session.hot.forget(response)
            return false
        }
        session.hot.responseCount += 1
        session.executor.noteHit()
        let ordinal = ExchangeRecord.Ordinal(connection: number, request: requestCount + 1)
        requestCount += 1
        session.telemetry.recordHotHit(
            response,
            since: now,
            isSecure: session.client.isSecure,
            client: session.client,
            ordinal: ordinal
        )
        hotStreams.begin(id, response, fields, at: now)
        frames.respond(id, fields, hot: response.contentLength > 0 ? response : nil)
        return true
    }

    func takeContent(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
        if let stream = streams[id] { stream.receive(bytes) } else { frames?.consume(bytes.count) }
    }

    /// - Parameter hasTrailers: whether its trailer section was decoded just now.
    func endContent(of id: Int32, hasTrailers: Bool) {
        fieldsSince = nil
        guard let stream = streams[id] else { return }
        do throws(MessageRefusal) {
            stream.endContent(trailers: hasTrailers ? try section.trailers() : nil)
        } catch {
            if error.reason == .trailersTooLarge { spend(.fields(section.decodedCount)) }
            stream.endContent(refusing: error)
        }
    }

    /// The client may take more content of all streams than before, or of one.
    func openWindow() { for stream in streams.values { stream.openWindow() } }

    /// The client has seen all that was sent before a ping.
    func answerPing() {
        guard isAwaitingPing, case .open = state else { return }
        isAwaitingPing = false
        frames?.takeNoMore()
        schedule()
    }

    /// A frame was sent.
    func sent(_ frame: nghttp2_frame) {
        let endsStream = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_RST_STREAM.rawValue:
            // The fields of the stream may have been the reason: they are not awaited any more.
            fieldsSince = nil
            switch frame.rst_stream.error_code {
            // A response that broke off, or one that needs no more of its request.
            case NGHTTP2_INTERNAL_ERROR.rawValue, NGHTTP2_NO_ERROR.rawValue: break
            // The other side of a tunnel has gone.
            case NGHTTP2_CANCEL.rawValue where streams[frame.hd.stream_id]?.isTunnel == true: break
            // Other connections have the permits.
            case NGHTTP2_REFUSED_STREAM.rawValue where !permits.areTaken: spend(.frame)
            // A client can make the gateway reset its streams, instead of doing it itself.
            default: spend(.reset)
            }
        case NGHTTP2_HEADERS.rawValue where endsStream, NGHTTP2_DATA.rawValue where endsStream:
            streams[frame.hd.stream_id]?.discardRest()
        default:
            break
        }
    }

    /// A stream is over.
    func close(_ id: Int32) {
        if !hotStreams.end(id) { streams.removeValue(forKey: id)?.close() }
        if isIdle { idleSince = now }
        if streams.isEmpty, case .open = state { enter(.idle) }
    }
}
