import CNGHTTP2

/// A client's side of an HTTP/2 connection, by nghttp2: bytes in, bytes out, without a socket.
///
/// nghttp2 judges the server. A response that RFC 9113 calls malformed ends its stream, and has a
/// ``HTTP2Response/problem``.
package final class HTTP2ClientSession {
    private let session: OpaquePointer
    /// The responses by stream, whole or not.
    package private(set) var responses: [Int32: HTTP2Response] = [:]
    private var uploads: [Int32: HTTP2Upload] = [:]
    private var section: [HTTP2Field] = []
    /// The last stream that the server serves, once it says so. RFC 9113 §6.8
    package private(set) var lastStream: Int32?
    /// The error code with which the server ends the connection.
    package private(set) var endCode: UInt32?

    /// - Parameters:
    ///   - window: bytes of content that the server may send before they are read, for each stream.
    ///   - tableSize: of the server's table of fields.
    /// - Returns: `nil` if there is not enough memory.
    package init?(window: Int = 65_535, tableSize: Int = 4_096) {
        var session: OpaquePointer?
        guard nghttp2_session_client_new(&session, Self.callbacks.pointer, nil) == 0, let session else { return nil }
        self.session = session
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let entries = [
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0), (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window),
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, tableSize),
        ].map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: UInt32($0.1)) }
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    deinit { nghttp2_session_del(session) }

    // MARK: Bytes

    /// Takes bytes of the server.
    package func receive(_ bytes: [UInt8]) throws(HTTP2Failure) {
        let count = nghttp2_session_mem_recv(session, bytes, bytes.count)
        if count < 0 { throw HTTP2Failure(Int32(count)) }
    }

    /// The bytes to send; empty if there are none.
    package func takeOutput() throws(HTTP2Failure) -> [UInt8] {
        var output: [UInt8] = []
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count >= 0 else { throw HTTP2Failure(Int32(count)) }
            guard count > 0 else { return output }
            output += UnsafeBufferPointer(start: bytes, count: count)
        }
    }

    // MARK: Requests

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - fields: with those that begin with a colon first.
    ///   - upload: its content; `nil` if the fields end the stream.
    /// - Returns: the stream.
    package func request(_ fields: [HTTP2Field], _ upload: HTTP2Upload? = nil) throws(HTTP2Failure) -> Int32 {
        let stream = withList(fields) { list in
            guard upload != nil else { return nghttp2_submit_request(session, nil, list, fields.count, nil, nil) }
            var provider = nghttp2_data_provider()
            provider.read_callback = Self.readUpload
            return nghttp2_submit_request(session, nil, list, fields.count, &provider, nil)
        }
        guard stream > 0 else { throw HTTP2Failure(stream) }
        uploads[stream] = upload
        responses[stream] = HTTP2Response()
        return stream
    }

    /// Sends the content that was held back.
    package func release(_ stream: Int32) {
        uploads[stream]?.isHeld = false
        nghttp2_session_resume_data(session, stream)
    }

    /// Gives up a request. RFC 9113 §8.7
    package func cancel(_ stream: Int32) {
        nghttp2_submit_rst_stream(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            stream,
            NGHTTP2_CANCEL.rawValue
        )
    }

    /// Forgets a stream, and returns its response as far as it has come.
    package func take(_ stream: Int32) -> HTTP2Response? {
        uploads[stream] = nil
        return responses.removeValue(forKey: stream)
    }

    private func withList<Value>(
        _ fields: [HTTP2Field],
        _ body: (UnsafePointer<nghttp2_nv>?) -> Value
    ) -> Value {
        var bytes = fields.flatMap { Array($0.name.utf8) + $0.value }
        return bytes.withUnsafeMutableBufferPointer { bytes in
            var place = 0
            let list = fields.map { field in
                let (name, value) = (place, place + field.name.utf8.count)
                place = value + field.value.count
                return nghttp2_nv(
                    name: bytes.baseAddress.map { $0 + name },
                    value: bytes.baseAddress.map { $0 + value },
                    namelen: value - name,
                    valuelen: place - value,
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
                )
            }
            return list.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }

    // MARK: Events

    private func endSection(of stream: Int32, endsStream: Bool) {
        let fields = section
        section = []
        guard var response = responses[stream] else { return }
        response.take(fields)
        if endsStream { response.isWhole = true }
        responses[stream] = response
    }

    private func received(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        let endsStream = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue: endSection(of: id, endsStream: endsStream)
        case NGHTTP2_DATA.rawValue where endsStream: responses[id]?.isWhole = true
        case NGHTTP2_GOAWAY.rawValue: (lastStream, endCode) = (frame.goaway.last_stream_id, frame.goaway.error_code)
        default: break
        }
    }

    private func close(_ stream: Int32, _ code: UInt32) {
        responses[stream]?.isOver = true
        responses[stream]?.code = code
    }

    private func refuse(_ stream: Int32, _ problem: String) { responses[stream]?.problem = problem }
}

// MARK: Callbacks

extension HTTP2ClientSession {
    /// Safe: it is made once, and then only read.
    private struct Callbacks: @unchecked Sendable { let pointer: OpaquePointer? }

    /// Safe: nghttp2 calls back only while a function of this object is running.
    private static func of(_ data: UnsafeMutableRawPointer?) -> HTTP2ClientSession? {
        data.map { Unmanaged<HTTP2ClientSession>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let callbacks = Callbacks(
        pointer: {
            var callbacks: OpaquePointer?
            guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
            setFieldCallbacks(callbacks)
            setStreamCallbacks(callbacks)
            return callbacks
        }()
    )

    private static func setFieldCallbacks(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, data in
            HTTP2ClientSession.of(data)?.section = []
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, _, name, nameLength, value, length, _, data in
            let name = String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self)
            let value = Array(UnsafeBufferPointer(start: value, count: length))
            HTTP2ClientSession.of(data)?.section.append(HTTP2Field(name: name, value: value))
            return 0
        }
        // nghttp2 would leave such a field out.
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, frame, name, count, _, _, _, data in
            let name = String(decoding: UnsafeBufferPointer(start: name, count: count), as: UTF8.self)
            if let frame { HTTP2ClientSession.of(data)?.refuse(frame.pointee.hd.stream_id, "field '\(name)'") }
            return Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
    }

    private static func setStreamCallbacks(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, data in
            if let frame { HTTP2ClientSession.of(data)?.received(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, code, data in
            if let frame {
                HTTP2ClientSession.of(data)?.refuse(frame.pointee.hd.stream_id, HTTP2Failure(code).description)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, data in
            HTTP2ClientSession.of(data)?.responses[id]?.content += UnsafeBufferPointer(start: bytes, count: count)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, data in
            HTTP2ClientSession.of(data)?.close(id, code)
            return 0
        }
    }

    private static let readUpload: nghttp2_data_source_read_callback = { _, id, bytes, limit, flags, _, data in
        guard let session = HTTP2ClientSession.of(data), let upload = session.uploads[id], let bytes else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        if upload.isHeld { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        let piece = upload.content[upload.place...].prefix(min(limit, upload.piece))
        for (offset, byte) in piece.enumerated() { bytes[offset] = byte }
        session.uploads[id]?.place += piece.count
        if upload.place + piece.count == upload.content.count {
            flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            if !upload.trailers.isEmpty {
                flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
                session.withList(upload.trailers) { list in
                    _ = nghttp2_submit_trailer(session.session, id, list, upload.trailers.count)
                }
            }
        }
        return piece.count
    }
}
