import CNGHTTP2
import NIOCore

/// The frames and header compression of one connection, using nghttp2. RFC 9113 and RFC 7541
///
/// It tells its ``HTTP2Connection`` the meaning of a client's frames, and gives it the bytes to
/// send. Used on the connection's event loop. The connection must not call ``send()`` during these
/// calls, because nghttp2 does not allow it.
final class HTTP2Session {
    /// The settings that are sent to a client. RFC 9113 §6.5.2
    struct Settings {
        /// The maximum number of concurrent requests.
        var concurrentStreams = 100
        /// The number of content bytes that a client may send before they are read, per request.
        var streamWindow = 64 << 10
        /// The number of content bytes that a client may send before they are read, for all
        /// requests of a connection: 1 MiB
        var connectionWindow = 1 << 20
        /// The maximum number of bytes in a request's fields, counting 32 more for each field.
        var fieldSection = 64 << 10
        /// Whether CONNECT may name a protocol. RFC 8441 §3
        var acceptsExtendedConnect = false
    }

    private let session: OpaquePointer
    /// Safe: the connection owns this object, and does not use it after its own end.
    fileprivate unowned(unsafe) let user: HTTP2Connection

    /// - Returns: `nil` if memory is exhausted.
    init?(for user: HTTP2Connection, _ settings: Settings) {
        self.user = user
        var session: OpaquePointer?
        guard nghttp2_session_server_new2(&session, Self.callbacks.pointer, nil, Self.options.pointer) == 0,
            let session
        else { return nil }
        self.session = session
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        var all = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.concurrentStreams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.streamWindow),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.fieldSection),
            // The old priority scheme required servers to keep a tree. RFC 9218 §2.1
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
        if settings.acceptsExtendedConnect { all.append((NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1)) }
        var entries = all.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: UInt32($0.1)) }
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entries, entries.count)
        nghttp2_session_set_local_window_size(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            Int32(settings.connectionWindow)
        )
    }

    deinit { nghttp2_session_del(session) }

    // MARK: Bytes

    /// Receives bytes from the client.
    ///
    /// - Returns: `false` if they are not HTTP/2 at all, so no response is possible.
    func receive(_ bytes: ByteBuffer) -> Bool {
        bytes.withUnsafeReadableBytes {
            nghttp2_session_mem_recv(session, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count) >= 0
        }
    }

    /// Passes pending frames to ``HTTP2Connection/send(_:)`` until it returns `false`.
    ///
    /// - Returns: `false` if the connection cannot continue.
    func send() -> Bool { nghttp2_session_send(session) == 0 }

    /// Whether frames are pending.
    var wantsToSend: Bool { nghttp2_session_want_write(session) != 0 }

    /// Whether the connection is over, ended by either side.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && !wantsToSend }

    // MARK: Streams

    /// Starts a response.
    ///
    /// - Parameters:
    ///   - fields: must exist until the stream is over. A head that is not sent by then is dropped,
    ///     and its fields are not read.
    ///   - stream: provides the content, and must exist until the stream is over; `nil` if there is
    ///     no content.
    func respond(_ id: Int32, _ fields: HTTP2Fields, _ stream: HTTP2Stream?) {
        guard let stream else { return respond(id, fields, nil as UnsafeMutablePointer<nghttp2_data_provider>?) }
        var provider = nghttp2_data_provider()
        provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
        provider.read_callback = Self.readStream
        respond(id, fields, &provider)
    }

    /// Responds from memory. The stream has no object; nghttp2 records how much of its content was
    /// sent.
    ///
    /// - Parameters:
    ///   - fields: must exist until the stream is over. A head that is not sent by then is dropped,
    ///     and its fields are not read.
    ///   - content: must exist until the stream is over; `nil` if there is no content.
    func respond(_ id: Int32, _ fields: HTTP2Fields, hot content: HotResponse?) {
        guard let content else { return respond(id, fields, nil as UnsafeMutablePointer<nghttp2_data_provider>?) }
        setHotPlace(0, of: id)
        var provider = nghttp2_data_provider()
        provider.source.ptr = Unmanaged.passUnretained(content).toOpaque()
        provider.read_callback = Self.readHot
        respond(id, fields, &provider)
    }

    private func respond(_ id: Int32, _ fields: HTTP2Fields, _ provider: UnsafeMutablePointer<nghttp2_data_provider>?) {
        if nghttp2_submit_response(session, id, fields.pointer, fields.count, provider) != 0 {
            reset(id, NGHTTP2_INTERNAL_ERROR)
        }
    }

    /// Ends a stream with trailers after its content. RFC 9113 §8.1
    ///
    /// - Parameter fields: must exist until the stream is over.
    /// - Returns: whether the trailers will be sent.
    fileprivate static func end(_ session: OpaquePointer?, _ id: Int32, _ fields: HTTP2Fields) -> Bool {
        nghttp2_submit_trailer(session, id, fields.pointer, fields.count) == 0
    }

    /// Returns a stream's flow-control window: the number of content bytes that the client accepts
    /// on the stream. Ignores the connection's window. RFC 9113 §5.2
    func window(of id: Int32) -> Int { Int(nghttp2_session_get_stream_remote_window_size(session, id)) }

    /// The window with which each stream begins: the client's `SETTINGS_INITIAL_WINDOW_SIZE`.
    var clientWindow: Int {
        Int(clamping: nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
    }

    /// Returns how many content bytes of a response from memory were sent; `nil` for any other
    /// stream. nghttp2 stores the number in place of a pointer. It is stored plus one, because a
    /// null pointer means `nil`.
    fileprivate func hotPlace(of id: Int32) -> Int? {
        nghttp2_session_get_stream_user_data(session, id).map { Int(bitPattern: $0) - 1 }
    }

    fileprivate func setHotPlace(_ place: Int, of id: Int32) {
        nghttp2_session_set_stream_user_data(session, id, UnsafeMutableRawPointer(bitPattern: place + 1))
    }

    /// Sends an interim response.
    ///
    /// - Parameter fields: must exist until the stream is over.
    func inform(_ id: Int32, _ fields: HTTP2Fields) {
        nghttp2_submit_headers(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, nil, fields.pointer, fields.count, nil)
    }

    /// Resumes a response, because more content or its end is available.
    func resume(_ id: Int32) { nghttp2_session_resume_data(session, id) }

    func reset(_ id: Int32, _ code: nghttp2_error_code) {
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
    }

    /// Lets the client send this many more bytes, on the stream and on the connection.
    func consume(_ id: Int32, _ count: Int) { nghttp2_session_consume(session, id, count) }

    /// Lets the client send this many more bytes on the connection, for a stream that is over.
    func consume(_ count: Int) { nghttp2_session_consume_connection(session, count) }

    /// Makes a stream take turns with others. Otherwise a stream that always has more to send would
    /// be the only one served. RFC 9218 §4.2, §11
    func takeTurns(_ id: Int32) {
        var priority = nghttp2_extpri(urgency: UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY), inc: 1)
        nghttp2_session_change_extpri_stream_priority(session, id, &priority, 0)
    }

    // MARK: The end

    /// Announces that the connection will accept no more requests, but still serves requests that
    /// are already on their way. RFC 9113 §6.8
    func announceEnd() {
        nghttp2_submit_shutdown_notice(session)
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Accepts no more requests, and finishes those received.
    func takeNoMore() {
        nghttp2_submit_goaway(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            nghttp2_session_get_last_proc_stream_id(session),
            NGHTTP2_NO_ERROR.rawValue,
            nil,
            0
        )
    }

    /// Ends the connection and all its requests.
    func terminate(_ code: nghttp2_error_code) { nghttp2_session_terminate_session(session, code.rawValue) }
}

// MARK: Callbacks

extension HTTP2Session {
    /// Safe: it is created once, and then only read.
    private struct Shared: @unchecked Sendable { let pointer: OpaquePointer? }

    private static let options = Shared(
        pointer: {
            var options: OpaquePointer?
            guard nghttp2_option_new(&options) == 0 else { return nil }
            // Windows open when content is read instead of when it arrives.
            nghttp2_option_set_no_auto_window_update(options, 1)
            nghttp2_option_set_no_closed_streams(options, 1)
            // No field of a response is indexed.
            nghttp2_option_set_max_deflate_dynamic_table_size(options, 0)
            return options
        }()
    )

    private static let callbacks = Shared(
        pointer: {
            var callbacks: OpaquePointer?
            guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
            setReceivingCallbacks(callbacks)
            setSendingCallbacks(callbacks)
            return callbacks
        }()
    )

    /// Safe: nghttp2 calls back only while one of this object's methods is running.
    fileprivate static func of(_ data: UnsafeMutableRawPointer?) -> HTTP2Session? {
        data.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }

    fileprivate static func user(_ data: UnsafeMutableRawPointer?) -> HTTP2Connection? { of(data)?.user }

    private static let goesOn: Int32 = 0
    private static let fails = Int32(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    private static let waits = Int32(NGHTTP2_ERR_WOULDBLOCK.rawValue)

    private static func setReceivingCallbacks(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, head, data in
            if let head { HTTP2Session.user(data)?.beginFrame(head.pointee) }
            return HTTP2Session.goesOn
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, data in
            HTTP2Session.user(data)?.beginFields()
            return HTTP2Session.goesOn
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            _,
            name,
            nameLength,
            value,
            valueLength,
            _,
            data in
            let name = UnsafeBufferPointer(start: name, count: nameLength)
            let value = UnsafeBufferPointer(start: value, count: valueLength)
            return HTTP2Session.user(data)?.take(name, value) == true ? HTTP2Session.goesOn : HTTP2Session.fails
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, data in
            if let frame, let user = HTTP2Session.user(data) { HTTP2Session.received(frame.pointee, user) }
            return HTTP2Session.goesOn
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, data in
            HTTP2Session.user(data)?.takeContent(UnsafeBufferPointer(start: bytes, count: count), of: id)
            return HTTP2Session.goesOn
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, data in
            HTTP2Session.user(data)?.close(id)
            return HTTP2Session.goesOn
        }
    }

    private static func received(_ frame: nghttp2_frame, _ user: HTTP2Connection) {
        let endsStream = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            if frame.headers.cat == NGHTTP2_HCAT_REQUEST {
                user.beginRequest(frame.hd.stream_id, endsStream: endsStream)
            } else if endsStream {
                user.endContent(of: frame.hd.stream_id, hasTrailers: true)
            }
        case NGHTTP2_DATA.rawValue:
            if endsStream { user.endContent(of: frame.hd.stream_id, hasTrailers: false) }
        case NGHTTP2_WINDOW_UPDATE.rawValue, NGHTTP2_SETTINGS.rawValue:
            user.openWindow()
        case NGHTTP2_PING.rawValue:
            if frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { user.answerPing() }
        default:
            break
        }
    }

    private static func setSendingCallbacks(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_send_callback(callbacks) { _, bytes, count, _, data in
            let isTaken = HTTP2Session.user(data)?.send(UnsafeBufferPointer(start: bytes, count: count)) == true
            return isTaken ? count : Int(HTTP2Session.waits)
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, frame, head, count, source, data in
            guard let frame, let session = HTTP2Session.of(data), let source = source?.pointee.ptr else {
                return HTTP2Session.fails
            }
            let head = UnsafeBufferPointer(start: head, count: 9)
            let isSent = session.sendContent(head, count, of: frame.pointee.hd.stream_id, source)
            return isSent ? HTTP2Session.goesOn : HTTP2Session.waits
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, data in
            if let frame { HTTP2Session.user(data)?.sent(frame.pointee) }
            return HTTP2Session.goesOn
        }
    }

    private func sendContent(
        _ head: UnsafeBufferPointer<UInt8>,
        _ count: Int,
        of id: Int32,
        _ source: UnsafeMutableRawPointer
    ) -> Bool {
        guard let place = hotPlace(of: id) else {
            return user.sendContent(head, count, of: Unmanaged<HTTP2Stream>.fromOpaque(source).takeUnretainedValue())
        }
        let response = Unmanaged<HotResponse>.fromOpaque(source).takeUnretainedValue()
        guard user.sendContent(head, count, of: response, from: place) else { return false }
        setHotPlace(place + count, of: id)
        return true
    }

    /// Decides how much content the next DATA frame gets. The bytes go to the connection without a
    /// copy.
    private static let readStream: nghttp2_data_source_read_callback = { session, id, _, limit, flags, source, _ in
        guard let pointer = source?.pointee.ptr else { return Int(HTTP2Session.fails) }
        let stream = Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
        guard let frame = stream.nextFrame(atMost: limit) else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        flags?.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        guard frame.isLast else { return frame.count }
        flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        if let trailers = stream.trailers {
            flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            guard HTTP2Session.end(session, id, trailers) else { return Int(HTTP2Session.fails) }
        }
        return frame.count
    }

    private static let readHot: nghttp2_data_source_read_callback = { _, id, _, limit, flags, source, data in
        guard let pointer = source?.pointee.ptr, let place = HTTP2Session.of(data)?.hotPlace(of: id) else {
            return Int(HTTP2Session.fails)
        }
        let rest = Unmanaged<HotResponse>.fromOpaque(pointer).takeUnretainedValue().contentLength - place
        flags?.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        if rest <= limit { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return min(rest, limit)
    }
}
