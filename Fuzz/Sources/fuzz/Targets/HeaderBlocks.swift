import CNGHTTP2
import NIOCore
import NIOHPACK

@testable import HoldfastGateway

/// One field as a decoder finds it.
struct DecodedField: Equatable {
    var name: String
    var value: String

    var isASCII: Bool { (name + value).utf8.allSatisfy { $0 < 0x80 } }

    /// Whether it enters the table. It depends on the field, so that each way is taken.
    var indexing: HPACKIndexing {
        switch value.utf8.count % 4 {
        case 0: .nonIndexable
        case 1: .neverIndexed
        default: .indexable
        }
    }

    init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    init(_ element: HPACKHeaders.Element) { self.init(name: element.name, value: element.value) }
}

extension FuzzInput {
    /// Lines up to an empty one. A name may begin with a colon.
    mutating func decodedFields() -> [DecodedField] {
        var fields: [DecodedField] = []
        while !isAtEnd {
            let line = line()
            if line.isEmpty { break }
            let end = line.indices.dropFirst().first { line[$0] == UInt8(ascii: ":") } ?? line.endIndex
            let value = line[end...].dropFirst().drop { $0 == UInt8(ascii: " ") }
            let name = String(decoding: line[..<end], as: UTF8.self)
            fields.append(DecodedField(name: name, value: String(decoding: value, as: UTF8.self)))
        }
        return fields
    }
}

/// Reads header blocks as ``HTTP2Session`` and ``HTTP2Connection`` do: nghttp2 decodes them and
/// judges names and order, ``HTTP2FieldSection`` collects the fields.
///
/// The session itself needs a connection with an engine. This one has the same settings and options
/// as far as header blocks depend on them.
final class SectionReader {
    struct Section {
        enum End { case complete, malformed, tooLarge, undecodable }

        var end = End.undecodable
        var fields: [DecodedField] = []
        var collected: HTTP2FieldSection

        /// Whether no request comes of it.
        var isRefused: Bool { end != .complete || (try? collected.head(endsStream: true)) == nil }
    }

    private var session: OpaquePointer?
    private var stream: UInt32 = 1
    private var section = HTTP2FieldSection(limits: MessageLimits())
    private var fields: [DecodedField] = []
    private var isComplete = false
    private var isTooLarge = false
    private var code: UInt32?

    init?() {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, data in
            SectionReader.of(data)?.section.clear()
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            _,
            name,
            nameCount,
            value,
            valueCount,
            _,
            data in
            let name = UnsafeBufferPointer(start: name, count: nameCount)
            let isTaken = SectionReader.of(data)?.take(name, UnsafeBufferPointer(start: value, count: valueCount))
            return isTaken == true ? 0 : Int32(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, data in
            if frame?.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) { SectionReader.of(data)?.isComplete = true }
            return 0
        }
        // The frames that it sends say why it refuses.
        nghttp2_session_callbacks_set_send_callback(callbacks) { _, _, count, _, _ in count }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, data in
            guard let frame = frame?.pointee, frame.hd.type == UInt8(NGHTTP2_GOAWAY.rawValue) else { return 0 }
            SectionReader.of(data)?.code = frame.goaway.error_code
            return 0
        }
        guard nghttp2_session_server_new(&session, callbacks, Unmanaged.passUnretained(self).toOpaque()) == 0 else {
            return nil
        }
        var settings = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
            value: UInt32(HTTP2Session.Settings().fieldSection)
        )
        nghttp2_submit_settings(session, 0, &settings, 1)
        _ = receive(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(4, 0, 0, []))
    }

    deinit { nghttp2_session_del(session) }

    /// Safe: nghttp2 calls back only while a function of this object is running.
    private static func of(_ data: UnsafeMutableRawPointer?) -> SectionReader? {
        data.map { Unmanaged<SectionReader>.fromOpaque($0).takeUnretainedValue() }
    }

    private func take(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        fields.append(
            DecodedField(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
        )
        isTooLarge = !section.append(name, value)
        return !isTooLarge
    }

    private func receive(_ bytes: [UInt8]) -> Bool {
        let isUnderstood = bytes.withUnsafeBufferPointer {
            nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) >= 0
        }
        return nghttp2_session_send(session) == 0 && isUnderstood
    }

    /// Reads a block as a request's, in as many frames as its first byte says.
    func read(_ block: [UInt8]) -> Section {
        fields = []
        isComplete = false
        let cuts = Int(block.first ?? 0) % 4
        let size = max(1, (block.count + cuts) / (cuts + 1))
        var rest = block[...]
        var bytes: [UInt8] = []
        repeat {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            // END_STREAM in the first frame, END_HEADERS in the last one.
            let flags: UInt8 = (bytes.isEmpty ? 1 : 0) | (rest.isEmpty ? 4 : 0)
            bytes += Self.frame(bytes.isEmpty ? 1 : 9, flags, stream, Array(piece))
        } while !rest.isEmpty
        let isUnderstood = receive(bytes)
        stream += 2
        var result = Section(fields: fields, collected: section)
        if isTooLarge {
            result.end = .tooLarge
        } else if isUnderstood, code == nil {
            result.end = isComplete ? .complete : .malformed
        } else {
            require(
                code == NGHTTP2_COMPRESSION_ERROR.rawValue,
                "a block ends the connection with \(String(describing: code))"
            )
        }
        // The stream makes place for the next one.
        if result.end == .complete {
            nghttp2_submit_rst_stream(session, 0, Int32(stream) - 2, NGHTTP2_CANCEL.rawValue)
            _ = nghttp2_session_send(session)
        }
        return result
    }

    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt32(payload.count) << 8 | UInt32(type))
        bytes.writeInteger(flags)
        bytes.writeInteger(stream)
        bytes.writeBytes(payload)
        return Array(bytes.readableBytesView)
    }

    // MARK: Differences

    /// Whether NIOHPACK may refuse a block that nghttp2 accepts: with more than two changes of the
    /// table's size. RFC 7541 §4.2 has no use for a third, and does not forbid it.
    static func isLegitimate(_ block: [UInt8]) -> Bool { block.prefix { $0 & 0xE0 == 0x20 }.count > 2 }

    /// Whether nghttp2 may refuse a block that NIOHPACK accepts: an integer in more bytes than 32
    /// bits take. RFC 7541 §5.1 lets a decoder limit them. Fields that are named by their index
    /// look the same here.
    static func hasLongInteger(_ block: [UInt8]) -> Bool {
        block.indices.contains { $0 + 4 <= block.count && block[$0..<$0 + 4].allSatisfy { $0 >= 0x80 } }
    }
}

/// Writes header blocks with nghttp2's encoder.
final class SectionWriter {
    private var deflater: OpaquePointer?

    init?() { guard nghttp2_hd_deflate_new(&deflater, 4096) == 0 else { return nil } }

    deinit { nghttp2_hd_deflate_del(deflater) }

    func write(_ fields: [DecodedField]) -> [UInt8] {
        var text: [UInt8] = fields.flatMap { Array($0.name.utf8) + Array($0.value.utf8) } + [0]
        return text.withUnsafeMutableBufferPointer { text in
            var place = text.baseAddress
            var entries: [nghttp2_nv] = fields.map { field in
                let (nameCount, valueCount) = (field.name.utf8.count, field.value.utf8.count)
                defer { place = place.map { $0 + nameCount + valueCount } }
                let flag = field.indexing == .neverIndexed ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                return nghttp2_nv(
                    name: place,
                    value: place.map { $0 + nameCount },
                    namelen: nameCount,
                    valuelen: valueCount,
                    flags: UInt8(flag.rawValue)
                )
            }
            let most = nghttp2_hd_deflate_bound(deflater, entries, entries.count)
            return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
                count = max(0, Int(nghttp2_hd_deflate_hd(deflater, buffer.baseAddress, most, &entries, entries.count)))
            }
        }
    }
}
