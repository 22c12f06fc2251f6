import CZlib
import Foundation
import HoldfastTesting
import NIOCore
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct CompressionTests {
    /// The formats of compressed content, by zlib's numbers.
    enum Format: Int32, CaseIterable {
        case gzip = 31
        case zlib = 15
        case raw = -15

        var coding: String { self == .gzip ? "gzip" : "deflate" }
    }

    private static let text = String(repeating: "The ferry leaves at nine. ", count: 4000)

    @Test(arguments: Format.allCases) func contentIsTheSameAfterDecoding(_ format: Format) throws {
        for text in ["", "x", Self.text] {
            let coded = ByteBuffer(bytes: compressed(Array(text.utf8), format))
            let decoded = try coded.decoded([format.coding], upTo: text.utf8.count)
            #expect(String(buffer: decoded) == text)
        }
    }

    @Test(arguments: ["gzip", "x-gzip", "GZIP", " gzip , identity", "identity, gzip"])
    func codingNamesFollowHTTP(_ name: String) throws {
        let decoded = try ByteBuffer(bytes: compressed(Array("text".utf8), .gzip)).decoded([name], upTo: 100)
        #expect(String(buffer: decoded) == "text")
    }

    @Test func codingsAreUndoneLastToFirst() throws {
        let coded = compressed(compressed(Array("text".utf8), .zlib), .gzip)
        let decoded = try ByteBuffer(bytes: coded).decoded(["deflate, gzip"], upTo: 100)
        #expect(String(buffer: decoded) == "text")
        #expect(throws: HoldfastError.self) { try ByteBuffer(bytes: coded).decoded(["gzip, deflate"], upTo: 100) }
    }

    @Test func moreCodingsThanTheLimitAreRejected() {
        let error = #expect(throws: HoldfastError.self) {
            try ByteBuffer(string: "x").decoded(["gzip, gzip", "gzip"], upTo: 100)
        }
        #expect(error?.code == .decodingFailed)
        #expect(error?.message.contains("3 codings") == true)
    }

    @Test func unknownCodingIsNamed() {
        let error = #expect(throws: HoldfastError.self) {
            try ByteBuffer(string: "x").decoded(["gzip, br"], upTo: 100)
        }
        #expect(error?.code == .decodingFailed)
        #expect(error?.message.contains("'br'") == true)
    }

    @Test func contentWithoutACodingIsNotCopied() throws {
        let content = ByteBuffer(string: Self.text)
        let decoded = try content.decoded(codings: [:], upTo: 0, of: MessageTarget("test"))
        let isSame = content.withUnsafeReadableBytes { first in
            decoded.withUnsafeReadableBytes { second in first.baseAddress == second.baseAddress }
        }
        #expect(isSame)
    }

    @Test func gzipMembersAreOneContent() throws {
        let coded = compressed(Array("one ".utf8), .gzip) + compressed(Array("two".utf8), .gzip)
        #expect(String(buffer: try ByteBuffer(bytes: coded).decoded(["gzip"], upTo: 7)) == "one two")
    }

    @Test(arguments: Format.allCases) func truncatedContentIsAnError(_ format: Format) {
        let whole = compressed(Array("The ferry leaves at nine, and at ten.".utf8), format)
        for length in 1..<whole.count {
            let error = #expect(throws: HoldfastError.self, "\(length) of \(whole.count)") {
                try ByteBuffer(bytes: whole.prefix(length)).decoded([format.coding], upTo: 1000)
            }
            #expect(error?.code == .decodingFailed)
        }
    }

    @Test func damageIsDetected() {
        var damaged = compressed(Array(Self.text.utf8), .gzip)
        damaged[damaged.count - 6] ^= 1
        for content in [damaged, Array("no gzip at all".utf8), compressed(Array("x".utf8), .gzip) + [1, 2, 3]] {
            let error = #expect(throws: HoldfastError.self) {
                try ByteBuffer(bytes: content).decoded(["gzip"], upTo: 1 << 20)
            }
            #expect(error?.code == .decodingFailed)
        }
    }

    @Test(arguments: Format.allCases) func contentOfExactlyTheLimitIsRead(_ format: Format) throws {
        let content = ByteBuffer(bytes: compressed(Array(Self.text.utf8), format))
        let length = Self.text.utf8.count
        #expect(try content.decoded([format.coding], upTo: length).readableBytes == length)
        for limit in [0, 1, 4096, length - 1] {
            let error = #expect(throws: HoldfastError.self) { try content.decoded([format.coding], upTo: limit) }
            #expect(error?.code == .bodyTooLarge)
        }
    }

    @Test func decompressionBombStaysWithinTheLimit() throws {
        let bomb = compressed([UInt8](repeating: 0, count: 64 << 20), .gzip)
        let twice = compressed(bomb, .gzip)
        let limit = 1 << 20
        for (content, codings) in [(bomb, "gzip"), (twice, "gzip, gzip")] {
            let error = #expect(throws: HoldfastError.self) {
                try ByteBuffer(bytes: content).decoded([codings], upTo: limit)
            }
            #expect(error?.code == .bodyTooLarge)
        }
    }

    @Test func compressedContentIsRequestedDecodedAndStoredCompressed() async throws {
        let fixture = try await ManualFixture()
        let coded = compressed(Array(#"{"id":7}"#.utf8), .gzip)
        fixture.transport.script(
            "https://a.example/thing",
            .coded(coded, "gzip", fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding"])
        )
        let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/thing")
        for source in [CacheResponse.Source.network, .store] {
            let emission = try await fixture.client.fetch(endpoint, as: [String: Int].self)
            #expect(emission.value == ["id": 7])
            #expect(emission.source == source)
        }
        #expect(fixture.transport.requests.map { $0.headerFields[.acceptEncoding] } == ["gzip, deflate"])
        var request = try fixture.client.request(for: endpoint)
        request.head.headerFields[.acceptEncoding] = "gzip, deflate"
        let raw = try await fixture.client.respond(to: request)
        #expect(raw.source == .store)
        #expect(Array(try await raw.body.collect(upTo: 1000).readableBytesView) == coded)
        try await fixture.close()
    }

    @Test(arguments: ["/gzip/300000", "/deflate/300000", "/deflate/300000?raw=true"])
    func compressedResponseEqualsThePlainOne(_ path: String) async throws {
        try await ClientFixture.run { fixture in
            var plain = fixture.get(path)
            plain.headers[.acceptEncoding] = "identity"
            let expected = try await fixture.client.fetch(plain).value
            #expect(expected.utf8.count == 300_000)
            let heard = Events()
            let call = fixture.client.call(fixture.get(path)).with { options in
                options.onProgress = { heard.append("\($0.completed)") }
            }
            let value = try await call.fetch().value
            #expect(value == expected)
            // Fewer bytes were transferred than the content has.
            let length = heard.all.last.flatMap(Int.init) ?? .max
            #expect(length < 150_000)
            let stored = try await fixture.client.stored(fixture.get(path))
            #expect(stored?.value == expected)
        }
    }

    @Test func codingEndingBeforeItsMessageIsAnError() async throws {
        try await ClientFixture.run { fixture in
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(fixture.get("/gzip/300000?missing=9")) }
        }
    }

    @Test func bombFromAnOriginIsAnError() async throws {
        try await ClientFixture.run(.init(maximumBodyBytes: 8 << 20)) { fixture in
            await expect(.bodyTooLarge) {
                _ = try await fixture.client.fetch(fixture.get("/bomb?mebibytes=1024"), as: Data.self)
            }
        }
    }

    @Test func acceptEncodingOfTheCallerIsObeyed() async throws {
        var configuration = CachingClient.Configuration()
        configuration.acceptsCompression = false
        for (configuration, own, sent) in [
            (CachingClient.Configuration(), "br", "br"), (CachingClient.Configuration(), nil, "gzip, deflate"),
            (configuration, nil, nil),
        ] as [(CachingClient.Configuration, String?, String?)] {
            let fixture = try await ManualFixture(configuration)
            fixture.transport.script("https://a.example/", .ok("x"))
            var endpoint = PathEndpoint(baseURL: "https://a.example", path: "/")
            endpoint.headers[.acceptEncoding] = own
            _ = try await fixture.client.fetch(endpoint)
            #expect(fixture.transport.requests.map { $0.headerFields[.acceptEncoding] } == [sent])
            try await fixture.close()
        }
    }

    @Test func headAndRangesAreNotRequestedCompressed() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script("https://a.example/", .ok(""), .status(.partialContent, "x"))
        var head = PathEndpoint(baseURL: "https://a.example", path: "/")
        head.method = .head
        _ = try await fixture.client.fetch(head, as: NoContent.self)
        var part = PathEndpoint(baseURL: "https://a.example", path: "/")
        part.headers[.range] = "bytes=0-0"
        _ = try? await fixture.client.fetch(part, .networkOnly)
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.transport.requests.allSatisfy { !$0.headerFields.contains(.acceptEncoding) })
        try await fixture.close()
    }

    @Test func checkedBombIsNotStored() async throws {
        var configuration = CachingClient.Configuration()
        configuration.maximumBodyBytes = 1 << 20
        let fixture = try await ManualFixture(configuration)
        let bomb = compressed([UInt8](repeating: 0x20, count: 8 << 20), .gzip)
        fixture.transport.script("https://a.example/", .coded(bomb, "gzip", fields: [.cacheControl: "max-age=60"]))
        let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/")
        await expect(.bodyTooLarge) {
            _ = try await fixture.client.call(endpoint, as: Data.self).validate { _ in }.fetch()
        }
        let stored = try await fixture.client.stored(endpoint)
        #expect(stored == nil)
        try await fixture.close()
    }
}

extension ByteBuffer {
    fileprivate func decoded(_ codings: [String], upTo limit: Int) throws -> ByteBuffer {
        var fields = HTTPFields()
        for coding in codings { fields.append(HTTPField(name: .contentEncoding, value: coding)) }
        return try decoded(codings: fields, upTo: limit, of: MessageTarget("test"))
    }
}

extension ScriptedTransport.Reply {
    /// A 200 with coded content.
    static func coded(_ content: [UInt8], _ coding: String, fields: HTTPFields) -> Self {
        var fields = fields
        fields[.contentEncoding] = coding
        return Self(head: HTTPResponse(status: .ok, headerFields: fields), chunks: [ByteBuffer(bytes: content)])
    }
}

/// Content in one of the formats, compressed by zlib.
func compressed(_ content: [UInt8], _ format: CompressionTests.Format) -> [UInt8] {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    guard czlib_deflateInit2(stream, 6, format.rawValue, 8) == Z_OK else { return [] }
    defer { deflateEnd(stream) }
    var input = content
    var output = [UInt8](repeating: 0, count: Int(deflateBound(stream, UInt(content.count))))
    return input.withUnsafeMutableBufferPointer { input in
        output.withUnsafeMutableBufferPointer { output in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            stream.pointee.next_out = output.baseAddress
            stream.pointee.avail_out = UInt32(output.count)
            guard deflate(stream, Z_FINISH) == Z_STREAM_END else { return [] }
            return Array(output.dropLast(Int(stream.pointee.avail_out)))
        }
    }
}
