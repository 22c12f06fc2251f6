import CZlib
import HTTPCache
import HoldfastConfiguration
import HoldfastTesting
import NIOPosix
import Testing

@testable import HoldfastGateway

/// A gateway whose only route compresses the responses of an origin.
enum CompressedGateway {
    /// Content of this length, which becomes shorter.
    static func text(_ length: Int) -> String {
        let lines = (0...length / 40).map { "\($0): the ferry leaves at \($0 % 24) o'clock sharp.\n" }.joined()
        return String(lines.utf8.prefix(length)) ?? ""
    }

    static let fresh = "Cache-Control: max-age=3600\r\n"

    /// A response whose fields tell of the origin's bytes.
    static func response(
        _ content: String,
        status: String = "200 OK",
        type: String = "text/plain",
        fields: String = fresh,
        isChunked: Bool = false
    ) -> String {
        let length = content.utf8.count
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(length)"
        let body = isChunked ? "\(String(length, radix: 16))\r\n\(content)\r\n0\r\n\r\n" : content
        return
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nETag: \"x\"\r\nAccept-Ranges: bytes\r\nContent-MD5: abcd\r\n"
            + "Digest: sha-256=x\r\nContent-Digest: sha-256=:eA==:\r\nRepr-Digest: sha-256=:eA==:\r\n"
            + "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n\(fields)\(framing)\r\n\r\n\(body)"
    }

    static func with(
        rewriting: Configuration.Rewriting = .none,
        compresses: Bool = true,
        _ respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .response(response(text(4000)))
        },
        group: MultiThreadedEventLoopGroup = .singleton,
        options: EngineOptions = .patient,
        hasResidentBodies: Bool = true,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RewritingGateway.with(
            rewriting: rewriting,
            compresses: compresses,
            respond,
            group: group,
            options: options,
            hasResidentBodies: hasResidentBodies,
            configure: configure,
            body
        )
    }
}

/// zlib, apart from the code under test.
enum Gzip {
    struct Failure: Error {
        let status: Int32
    }

    static func compressed(_ content: [UInt8]) throws -> [UInt8] {
        try withStream { stream in
            guard czlib_deflateInit2(stream, 6, 31, 8) == Z_OK else { throw Failure(status: Z_MEM_ERROR) }
            defer { deflateEnd(stream) }
            let room = Int(deflateBound(stream, UInt(content.count)))
            var (input, output) = (content, [UInt8](repeating: 0, count: room))
            let status = input.withUnsafeMutableBufferPointer { input in
                output.withUnsafeMutableBufferPointer { output in
                    stream.pointee.next_in = input.baseAddress
                    stream.pointee.avail_in = UInt32(input.count)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(output.count)
                    return deflate(stream, Z_FINISH)
                }
            }
            guard status == Z_STREAM_END else { throw Failure(status: status) }
            return Array(output.dropLast(Int(stream.pointee.avail_out)))
        }
    }

    /// - Parameter isComplete: whether the whole of one member is expected; otherwise, as much as
    ///   the bytes contain.
    static func decoded(_ bytes: [UInt8], isComplete: Bool = true) throws -> [UInt8] {
        try withStream { stream in
            guard czlib_inflateInit2(stream, 31) == Z_OK else { throw Failure(status: Z_MEM_ERROR) }
            defer { inflateEnd(stream) }
            var (input, room, output) = (bytes, [UInt8](repeating: 0, count: 1 << 16), [UInt8]())
            try input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                while true {
                    let status = room.withUnsafeMutableBufferPointer { room in
                        stream.pointee.next_out = room.baseAddress
                        stream.pointee.avail_out = UInt32(room.count)
                        return inflate(stream, Z_NO_FLUSH)
                    }
                    output += room.dropLast(Int(stream.pointee.avail_out))
                    let isRead = stream.pointee.avail_in == 0
                    if status == Z_STREAM_END, isRead { return }
                    if !isComplete, isRead, stream.pointee.avail_out > 0 { return }
                    guard status == Z_OK else { throw Failure(status: status) }
                }
            }
            return output
        }
    }

    /// zlib identifies a stream by its address.
    private static func withStream<Value>(
        _ body: (UnsafeMutablePointer<z_stream>) throws -> Value
    ) rethrows -> Value {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        return try body(stream)
    }
}

extension RawResponse {
    /// The content without its coding.
    func decodedText() throws -> String {
        self["Content-Encoding"] == nil ? text : String(decoding: try Gzip.decoded(content), as: UTF8.self)
    }
}
