import CNGHTTP2

@testable import HoldfastGateway

/// A client that sends frames of HTTP/2 as they are, and reads the server's. RFC 9113 §4
///
/// Its own fields are never indexed; the server's are decoded by nghttp2.
final class FrameClient {
    struct Frame: Equatable {
        var type: UInt8
        var flags: UInt8 = 0
        var stream: UInt32 = 0
        var payload: [UInt8] = []

        static let (data, headers, reset, settings, push, ping, goAway, window, continuation):
            (
                UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
            ) = (0, 1, 3, 4, 5, 6, 7, 8, 9)

        var bytes: [UInt8] {
            let count = payload.count
            return [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags]
                + FrameClient.bytes(stream) + payload
        }

        var endsStream: Bool { flags & 1 != 0 }

        /// The error code of a reset or of the end.
        var code: UInt32? {
            switch type {
            case Self.reset: FrameClient.number(payload)
            case Self.goAway: FrameClient.number(Array(payload.dropFirst(4)))
            default: nil
            }
        }
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private let client: RawClient
    private var received: [UInt8] = []
    private let inflater: OpaquePointer?

    init(_ client: RawClient) {
        self.client = client
        var inflater: OpaquePointer?
        nghttp2_hd_inflate_new(&inflater)
        self.inflater = inflater
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    // MARK: Sending

    /// The preface and the settings.
    static func beginning(_ settings: [(UInt16, UInt32)] = []) -> [UInt8] { preface + Self.settings(settings).bytes }

    static func settings(_ settings: [(UInt16, UInt32)]) -> Frame {
        Frame(type: Frame.settings, payload: settings.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + bytes($0.1) })
    }

    /// A whole request without content.
    static func get(
        _ path: String,
        on stream: UInt32,
        authority: String = "a.example",
        fields: [(String, String)] = []
    ) -> Frame {
        request("GET", path, on: stream, authority: authority, fields: fields, endsStream: true)
    }

    static func request(
        _ method: String,
        _ path: String,
        on stream: UInt32,
        authority: String = "a.example",
        fields: [(String, String)] = [],
        endsStream: Bool
    ) -> Frame {
        let all = [(":method", method), (":scheme", "http"), (":path", path), (":authority", authority)] + fields
        return Frame(
            type: Frame.headers,
            flags: endsStream ? 5 : 4,
            stream: stream,
            payload: all.flatMap { literal($0.0, $0.1) }
        )
    }

    /// A field that is never indexed, without Huffman coding. RFC 7541 §6.2.3
    static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0x10] + text(name) + text(value)
    }

    /// A string literal. RFC 7541 §5.2
    static func text(_ text: String) -> [UInt8] { integer(text.utf8.count, prefix: 7) + Array(text.utf8) }

    /// RFC 7541 §5.1
    static func integer(_ value: Int, prefix: Int) -> [UInt8] {
        let limit = 1 << prefix - 1
        guard value >= limit else { return [UInt8(value)] }
        var bytes = [UInt8(limit)]
        var rest = value - limit
        while rest >= 128 {
            bytes.append(UInt8(rest & 0x7F | 0x80))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    static func window(_ increment: UInt32, on stream: UInt32) -> Frame {
        Frame(type: Frame.window, stream: stream, payload: bytes(increment))
    }

    static func reset(_ stream: UInt32) -> Frame { Frame(type: Frame.reset, stream: stream, payload: bytes(8)) }

    static func bytes(_ number: UInt32) -> [UInt8] {
        [UInt8(number >> 24), UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    static func number(_ bytes: [UInt8]) -> UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    func send(_ bytes: [UInt8]) async throws { try await client.send(bytes) }

    func send(_ frames: Frame...) async throws { try await client.send(frames.flatMap(\.bytes)) }

    // MARK: Reading

    /// The next frame; `nil` when the server has closed.
    func frame() async -> Frame? {
        while true {
            if received.count >= 9 {
                let length = Int(received[0]) << 16 | Int(received[1]) << 8 | Int(received[2])
                if received.count >= 9 + length {
                    let frame = Frame(
                        type: received[3],
                        flags: received[4],
                        stream: Self.number(Array(received[5..<9])),
                        payload: Array(received[9..<9 + length])
                    )
                    received.removeFirst(9 + length)
                    return frame
                }
            }
            guard let bytes = await client.read() else { return nil }
            received += bytes
        }
    }

    /// The next frame of a kind; `nil` when the server has closed.
    func frame(where isWanted: (Frame) -> Bool) async -> Frame? {
        while let frame = await frame() { if isWanted(frame) { return frame } }
        return nil
    }

    struct Response {
        var status = 0
        var fields: [(name: String, value: String)] = []
        var content: [UInt8] = []
        var interims: [Int] = []
        /// The lines of the trailer section, and whether it ended the stream.
        var trailers: [String] = []
        /// The code of the reset that ended it; `nil` if it is complete.
        var reset: UInt32?

        subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
        var text: String { String(decoding: content, as: UTF8.self) }
    }

    /// The responses of streams, in whatever order they come.
    ///
    /// - Parameter opensWindow: whether what was read may be followed by as much.
    func responses(_ streams: Set<UInt32>, opensWindow: Bool = true) async throws -> [UInt32: Response] {
        var responses: [UInt32: Response] = [:]
        var open = streams
        while !open.isEmpty, let frame = await frame() {
            var response = responses[frame.stream, default: Response()]
            switch frame.type {
            case Frame.headers:
                let fields = decode(frame.payload)
                let status = fields.first { $0.name == ":status" }.flatMap { Int($0.value) } ?? 0
                if status == 0 {
                    response.trailers += fields.map { "\($0.name): \($0.value)" }
                } else if (100..<200).contains(status) {
                    response.interims.append(status)
                } else {
                    (response.status, response.fields) = (status, fields)
                }
            case Frame.data:
                response.content += frame.payload
                if opensWindow, !frame.payload.isEmpty {
                    let count = UInt32(frame.payload.count)
                    // The gateway may have closed behind its last frame.
                    try? await send(Self.window(count, on: 0), Self.window(count, on: frame.stream))
                }
            case Frame.reset:
                response.reset = frame.code
                open.remove(frame.stream)
            default:
                continue
            }
            responses[frame.stream] = response
            if frame.type <= 1, frame.endsStream { open.remove(frame.stream) }
        }
        return responses
    }

    /// The fields of a frame that has all of them. Call it for each such frame, in their order.
    func fields(of frame: Frame) -> [(name: String, value: String)] { decode(frame.payload) }

    private func decode(_ payload: [UInt8]) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var payload = payload
        payload.withUnsafeMutableBufferPointer { bytes in
            var place = 0
            var flags: Int32 = 0
            repeat {
                var field = nghttp2_nv()
                let start = bytes.baseAddress.map { $0 + place }
                let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, start, bytes.count - place, 1)
                guard count >= 0 else { return fields.append(("invalid", "\(count)")) }
                place += count
                if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    let name = UnsafeBufferPointer(start: field.name, count: field.namelen)
                    let value = UnsafeBufferPointer(start: field.value, count: field.valuelen)
                    fields.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
                }
            } while flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) == 0 && place <= bytes.count
            nghttp2_hd_inflate_end_headers(inflater)
        }
        return fields
    }
}
