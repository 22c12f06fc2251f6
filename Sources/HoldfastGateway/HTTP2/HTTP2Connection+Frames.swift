import CNGHTTP2
import EventLoops
import HTTPTypes
import HTTPWire
import NIOCore

/// Handles frames.
extension HTTP2Connection {
    /// Handles the beginning of a frame, of which only the first nine bytes have arrived.
    func beginFrame(_ frame: nghttp2_frame_hd) {
        let flags = UInt32(frame.flags)
        switch UInt32(frame.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_CONTINUATION.rawValue:
            if fieldsSince == nil { fieldsSince = now }
            // The last of these frames completes the fields, and ends the time for them.
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

    /// Prepares for the fields of a request or of its trailer section.
    func beginFields() { section.clear() }

    /// Adds a field.
    ///
    /// - Returns: `false` if the fields are too large to decode.
    func take(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        section.append(name, value)
    }

    /// Starts a request, because its fields are complete.
    func beginRequest(_ id: Int32, endsStream: Bool) {
        fieldsSince = nil
        guard let frames else { return }
        let admission = session.admit(endsStream ? section.lookupKey : nil, at: now)
        let at = ExchangeRecord.Ordinal(connection: number, request: requestCount + 1)
        // A stream without an object has no deadline of its own, so its client must accept all the
        // content at once.
        if case .hot(let key) = admission,
            let response = session.respondHot(to: key, since: now, at: at, room: frames.window(of: id)),
            let fields = response.fields
        {
            requestCount += 1
            hotStreams.begin(id, response, fields, at: now)
            return frames.respond(id, fields, hot: response.contentLength > 0 ? response : nil)
        }
        let configuration = service.configuration
        guard let permit = permits.take(ofAll: configuration.maximumConnections) else {
            return frames.reset(id, NGHTTP2_REFUSED_STREAM)
        }
        requestCount += 1
        let pace = UploadPace(rate: configuration.uploadRate, patience: configuration.timeouts.slowContent.timeAmount)
        do throws(MessageRefusal) {
            let head = try section.head(endsStream: endsStream)
            let stream = HTTP2Stream(id, on: self, head, permit, pace)
            streams[id] = stream
            counted.enter(.active)
            let exchange = ClientExchange(
                head.request,
                of: session,
                content: stream,
                to: stream,
                in: admission.trace,
                since: now,
                at: at,
                keyed: admission.hotKey
            )
            stream.exchange = exchange
            exchange.begin(admission)
        } catch {
            // Decoding oversized fields costs more than their compressed size suggests.
            if [.fieldsTooLarge, .startLineTooLong].contains(error.reason) { spend(.fields(section.decodedCount)) }
            let stream = HTTP2Stream(id, on: self, nil, permit, pace)
            streams[id] = stream
            stream.respond(with: session.refuse(error, since: now, at: at))
        }
    }

    func takeContent(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
        if let stream = streams[id] { stream.receive(bytes) } else { frames?.consume(bytes.count) }
    }

    /// Ends the content of a request.
    ///
    /// - Parameter hasTrailers: whether a trailer section was just decoded.
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

    /// Resumes sending, because the client accepts more content than before, on one stream or on
    /// all.
    func openWindow() { for stream in streams.values { stream.openWindow() } }

    /// Handles the answer to a ping: the client has seen everything that was sent before the ping.
    func answerPing() {
        guard isAwaitingPing, case .open = state else { return }
        isAwaitingPing = false
        frames?.takeNoMore()
        schedule()
    }

    /// Handles a frame that was sent.
    func sent(_ frame: nghttp2_frame) {
        let endsStream = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_RST_STREAM.rawValue:
            // The reset may be due to the stream's fields. The rest of them is no longer expected.
            fieldsSince = nil
            switch frame.rst_stream.error_code {
            // The response was cut short, or it needs no more of its request.
            case NGHTTP2_INTERNAL_ERROR.rawValue, NGHTTP2_NO_ERROR.rawValue: break
            // The other side of a tunnel has disconnected.
            case NGHTTP2_CANCEL.rawValue where streams[frame.hd.stream_id]?.isTunnel == true: break
            // Other connections hold the permits, so this client is not at fault.
            case NGHTTP2_REFUSED_STREAM.rawValue where !permits.areTaken: spend(.frame)
            // A client can make the gateway reset its streams instead of resetting them itself.
            default: spend(.reset)
            }
        case NGHTTP2_HEADERS.rawValue where endsStream, NGHTTP2_DATA.rawValue where endsStream:
            streams[frame.hd.stream_id]?.discardRest()
        default:
            break
        }
    }

    /// Handles the end of a stream.
    func close(_ id: Int32) {
        if !hotStreams.end(id) { streams.removeValue(forKey: id)?.close() }
        if isIdle { idleSince = now }
        if streams.isEmpty, case .open = state { counted.enter(.idle) }
    }
}
