import CZlib
import Testing

@testable import SampleOrigin

/// Content codings (RFC 9110 §8.4).
@Suite(.timeLimit(.minutes(20)))
struct CompressionTests {
    @Test(arguments: [("/gzip/200000", "gzip", Inflater.gzip), ("/deflate/200000", "deflate", Inflater.zlib)])
    func codedOnDemand(target: String, coding: String, format: Int32) async throws {
        try await SampleOrigin.withOrigin { origin in
            let plain = try await RawClient.get(target, to: origin)
            let coded = try await RawClient.get(target, fields: [("Accept-Encoding", coding)], to: origin)
            #expect(plain["Content-Encoding"] == nil)
            #expect(plain.body == DeterministicText().bytes(0..<200_000))
            #expect(coded["Content-Encoding"] == coding)
            #expect(coded.content.count < 60_000)
            let inflated = try Inflater(format).inflate(coded.content)
            #expect(inflated.bytes == plain.body)
            #expect(inflated.isComplete)
            #expect(plain["Vary"] == "Accept-Encoding")
            #expect(coded["Vary"] == "Accept-Encoding")
            #expect(plain["ETag"] != coded["ETag"])
            for fields in [[("Accept-Encoding", coding)], []] {
                let tag = try #require((fields.isEmpty ? plain : coded)["ETag"])
                let again = try await RawClient.get(target, fields: fields + [("If-None-Match", tag)], to: origin)
                #expect(again.status == 304)
                #expect(again["Vary"] == "Accept-Encoding")
            }
        }
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("gzip", true), ("GZIP;q=0.1", true), ("x-gzip", true), ("br, gzip;q=0", false),
            ("*", true), ("*;q=0", false), ("*, gzip;q=0", false), ("*;q=0, gzip", true), ("deflate", false),
        ] as [(String?, Bool)]
    )
    func acceptEncodingDecides(field: String?, isAccepted: Bool) {
        #expect(accepts("gzip", field: field) == isAccepted)
    }

    @Test func textAtOffsetMatchesWholeText() {
        let whole = DeterministicText().bytes(0..<500)
        #expect(DeterministicText().bytes(77..<301) == Array(whole[77..<301]))
        #expect(String(decoding: whole.prefix(38), as: UTF8.self) == "0000000000 is the number of this line\n")
    }

    @Test func codingCanBeForcedRawOrTruncated() async throws {
        try await SampleOrigin.withOrigin { origin in
            let always = try await RawClient.get("/gzip/0?always=true", to: origin)
            #expect(always["Content-Encoding"] == "gzip")
            #expect(try Inflater(Inflater.gzip).inflate(always.content).bytes == [])

            let fields = [("Accept-Encoding", "deflate")]
            let raw = try await RawClient.get("/deflate/1000?raw=true", fields: fields, to: origin)
            #expect(throws: Inflater.Failure.self) { try Inflater(Inflater.zlib).inflate(raw.content) }
            let inflated = try Inflater(Inflater.raw).inflate(raw.content)
            #expect(inflated.bytes == DeterministicText().bytes(0..<1000))

            let cut = try await RawClient.get("/gzip/100000?always=true&missing=9", to: origin)
            // The message ends as it should; it is the stream in it that does not.
            #expect(cut.text.hasSuffix("\r\n0\r\n\r\n"))
            let partial = try Inflater(Inflater.gzip).inflate(cut.content)
            #expect(!partial.isComplete)
            #expect(DeterministicText().bytes(0..<100_000).starts(with: partial.bytes))
        }
    }

    @Test func bombIsSmallAndInflatesToAnnouncedSize() async throws {
        try await SampleOrigin.withOrigin { origin in
            let bomb = try await RawClient.get("/bomb", to: origin)
            #expect(bomb["Content-Encoding"] == "gzip")
            #expect(bomb["Content-Length"] == "\(bomb.body.count)")
            #expect(bomb.body.count < 2 << 20)
            // The whole of a smaller one: zlib checks its checksum and its length.
            let smaller = try await RawClient.get("/bomb?mebibytes=5", to: origin)
            let inflated = try Inflater(Inflater.gzip).inflate(smaller.body)
            #expect(inflated.bytes == [UInt8](repeating: 0, count: 5 << 20))
            #expect(inflated.isComplete)
            // Both repeat the same segment, so their lengths have the ratio of their contents.
            #expect((bomb.body.count - 20) / 1024 == (smaller.body.count - 20) / 5)
            #expect(bomb.body.suffix(4) == [0, 0, 0, 0x40])
        }
    }
}

/// Inflates the received bytes, whole or cut off.
private final class Inflater {
    static let gzip: Int32 = 31
    static let zlib: Int32 = 15
    static let raw: Int32 = -15

    struct Failure: Error {
        let code: Int32
    }

    private let stream: UnsafeMutablePointer<z_stream>

    init(_ windowBits: Int32) throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = czlib_inflateInit2(stream, windowBits)
        guard code == Z_OK else { throw Failure(code: code) }
    }

    deinit {
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    func inflate(_ bytes: [UInt8]) throws -> (bytes: [UInt8], isComplete: Bool) {
        var input = bytes
        var output: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 1 << 16)
        return try input.withUnsafeMutableBufferPointer { source in
            stream.pointee.next_in = source.baseAddress
            stream.pointee.avail_in = UInt32(source.count)
            while true {
                let (code, written) = room.withUnsafeMutableBufferPointer { target in
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = UInt32(target.count)
                    let code = CZlib.inflate(stream, Z_NO_FLUSH)
                    return (code, target.count - Int(stream.pointee.avail_out))
                }
                output.append(contentsOf: room[..<written])
                switch code {
                case Z_STREAM_END: return (output, true)
                case Z_OK where written > 0 || stream.pointee.avail_in > 0: continue
                case Z_OK, Z_BUF_ERROR: return (output, false)
                default: throw Failure(code: code)
                }
            }
        }
    }
}
