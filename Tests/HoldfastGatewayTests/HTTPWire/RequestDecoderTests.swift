import HTTPTypes
import NIOCore
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// The result of decoding some bytes: events, joined content, and how it ended.
enum Decoded<Head: Hashable>: Hashable {
    case head(Head)
    case content([UInt8])
    case end
    case trailers(HTTPFields)
    case refused(MessageRefusal)
}

extension RequestDecoder {
    /// Decodes bytes that arrive in these pieces.
    static func decode(_ pieces: [[UInt8]], limits: MessageLimits = MessageLimits()) -> [Decoded<RequestHead>] {
        var decoder = RequestDecoder(limits: limits)
        var events: [Decoded<RequestHead>] = []
        for piece in pieces {
            decoder.append(ByteBuffer(bytes: piece))
            do throws(MessageRefusal) {
                while let event = try decoder.next() {
                    switch event {
                    case .head(let head): events.append(.head(head))
                    case .content(.body(let bytes)): events.append(content: bytes)
                    case .content(.end(let trailers)): events += (trailers.map { [.trailers($0)] } ?? []) + [.end]
                    }
                }
            } catch {
                return events + [.refused(error)]
            }
        }
        return events
    }

    static func decode(_ text: String, limits: MessageLimits = MessageLimits()) -> [Decoded<RequestHead>] {
        decode([Array(text.utf8)], limits: limits)
    }
}

extension Array {
    /// The places at which content is cut do not matter.
    mutating func append<Head>(content: ByteBuffer) where Element == Decoded<Head> {
        if case .content(let bytes)? = last {
            self[count - 1] = .content(bytes + content.readableBytesView)
        } else {
            append(.content([UInt8](content.readableBytesView)))
        }
    }
}

extension Sequence where Element == Decoded<RequestHead> {
    var refusal: MessageRefusal? {
        for case .refused(let refusal) in self { return refusal }
        return nil
    }

    var heads: [RequestHead] {
        compactMap { if case .head(let head) = $0 { head } else { nil } }
    }

    var contents: [String] {
        compactMap { if case .content(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil } }
    }
}

/// Request decoder, RFC 9112.
@Suite(.timeLimit(.minutes(20)))
struct RequestDecoderTests {
    /// Mutants: any one check of `Framing`, `FieldBlock`, `LineCutter`, `ContentDecoder` or
    /// `RequestLine` left out.
    @Test(arguments: [
        // Framing, RFC 9112 §6.1, §6.3
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{B}chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999999\r\n\r\n", 400),
        // Fields, RFC 9112 §5
        ("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX(): b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nXé: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: b\u{1}c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{7F}\r\n\r\n", 400),
        // Lines, RFC 9112 §2.2
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        // The request line, RFC 9112 §3
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1x\r\nHost: a\r\n\r\n", 400),
        ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/11\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /é HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501),
        // Host, RFC 9112 §3.2
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a:8 0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417),
    ])
    func rejectsRequestsThatProgramsReadDifferently(request: String, status: Int) {
        #expect(RequestDecoder.decode(request).refusal?.status == status)
        #expect(RequestDecoder.decode(request).heads.isEmpty)
    }

    /// RFC 9112 §7.1.
    /// Mutants: `ContentDecoder.size` without its digit limit, or without the check of the bytes
    /// after it; `.chunkEnd` that skips two bytes unchecked.
    @Test(arguments: [
        "\r\n", "x\r\n", "-1\r\n", "+1\r\na\r\n0\r\n\r\n", "0x1\r\na\r\n0\r\n\r\n", " 1\r\na\r\n0\r\n\r\n",
        "1 \r\na\r\n0\r\n\r\n", "1\na\r\n0\r\n\r\n", "1\r\na\n0\r\n\r\n", "1\r\naX\r\n0\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n", "10000000000000000\r\na\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\n",
        "0000000000000001\r\na\r\n0\r\n\r\n", "1;\u{0}\r\na\r\n0\r\n\r\n", "1;a\rb\r\na\r\n0\r\n\r\n",
        "0\r\nX : b\r\n\r\n", "0\r\n X: b\r\n\r\n", "0\r\nX: b\n\r\n", "0\r\n\n",
    ])
    func rejectsMalformedChunks(content: String) {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(RequestDecoder.decode(head + content).refusal?.status == 400)
    }

    /// A request whose size comes from a repetition, so that its description stays short.
    struct Repeated: Sendable, CustomTestStringConvertible {
        var start: String
        var unit: String
        var count: Int
        var end = ""
        var status: Int
        var text: String { start + String(repeating: unit, count: count) + end }
        var testDescription: String { "\(count) times '\(unit.prefix(8))' behind '\(start.prefix(40))'" }
    }

    @Test(arguments: [
        Repeated(start: "GET /", unit: "a", count: 9000, status: 414),
        Repeated(start: "GET /", unit: "a", count: 9000, end: " HTTP/1.1\r\nHost: a\r\n\r\n", status: 414),
        Repeated(start: getHead + "X: ", unit: "a", count: 70_000, status: 431),
        Repeated(
            start: getHead,
            unit: "X: " + String(repeating: "a", count: 1000) + "\r\n",
            count: 70,
            status: 431
        ),
        Repeated(start: getHead, unit: "X: a\r\n", count: 128, end: "\r\n", status: 431),
        Repeated(start: chunkedHead + "1;", unit: "a", count: 2000, status: 400),
        Repeated(
            start: chunkedHead,
            unit: "1;" + String(repeating: "a", count: 900) + "\r\na\r\n",
            count: 20,
            status: 400
        ),
        Repeated(
            start: chunkedHead + "0\r\n",
            unit: "X: " + String(repeating: "a", count: 1000) + "\r\n",
            count: 9,
            status: 431
        ),
        Repeated(start: chunkedHead + "0\r\nX: ", unit: "a", count: 9000, status: 431),
    ])
    func limitsWhatItReads(request: Repeated) {
        #expect(RequestDecoder.decode(request.text).refusal?.status == request.status)
    }

    private static let getHead = "GET / HTTP/1.1\r\nHost: a\r\n"
    private static let chunkedHead = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func acceptsHeadOfExactlyTheLimits() {
        let request = "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: a\r\n", count: 127) + "\r\n"
        #expect(RequestDecoder.decode(request).heads.first?.request.fields.count == 128)
    }

    /// One split is not enough if a line's end is cut, so single bytes are tried too.
    @Test(arguments: [
        "GET /a?b HTTP/1.1\r\nHost: a.example:80\r\nX:  y \r\n\r\nPOST /c HTTP/1.1\r\nHost: b\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.0\r\n\r\n",
        "\r\nPOST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nT: u\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
    ])
    func eventsDoNotDependOnCuts(request: String) {
        let bytes = Array(request.utf8)
        let whole = RequestDecoder.decode([bytes])
        #expect(!whole.isEmpty)
        for index in bytes.indices {
            #expect(RequestDecoder.decode([Array(bytes[..<index]), Array(bytes[index...])]) == whole)
        }
        #expect(RequestDecoder.decode(bytes.map { [$0] }) == whole)
    }

    @Test(arguments: [39, 40, 41, 42]) func limitsDoNotDependOnCuts(length: Int) {
        var limits = MessageLimits()
        limits.startLine = 40
        limits.fieldBlock = 40
        let line = "GET /" + String(repeating: "a", count: length - 14) + " HTTP/1.1\r\n"
        let fields = "Host: a\r\nX: " + String(repeating: "a", count: length - 14) + "\r\n\r\n"
        for request in [line + "Host: a\r\n\r\n", "GET / HTTP/1.1\r\n" + fields] {
            let bytes = Array(request.utf8)
            let whole = RequestDecoder.decode([bytes], limits: limits)
            #expect(RequestDecoder.decode(bytes.map { [$0] }, limits: limits) == whole)
        }
    }

    @Test func fieldValuesKeepTheirBytesAndNamesTheirCase() throws {
        let value: [UInt8] = [0x61, 0x80, 0xFF, 0xC3, 0x28, 0x09, 0x62]
        let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX-OdD: ".utf8) + value + Array("\r\n\r\n".utf8)
        let head = try #require(RequestDecoder.decode([bytes]).heads.first).request
        let field = try #require(head.fields.last)
        #expect(field.name.rawName == "X-OdD")
        #expect(field.withUnsafeBytesOfValue { Array($0) } == value)
        let written = ByteBuffer.head { $0.writeFields(head.fields) }
        #expect(Array(written.readableBytesView) == Array("Host: a\r\nX-OdD: ".utf8) + value + Array("\r\n".utf8))
    }

    @Test(arguments: ["/", "//", "/a/../b", "/%2e%2E/%zz", "/a|b\"<>^`{}\\", "/?", "/??a=;b&a=%26"])
    func targetsStayAsReceived(target: String) {
        let heads = RequestDecoder.decode("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n").heads
        #expect(heads.first?.request.target == target)
    }

    /// RFC 9112 §3.2.2.
    @Test(arguments: [
        ("http://b.example/x?y", "b.example", "/x?y"), ("HTTP://b.example:81", "b.example:81", "/"),
        ("https://b.example?q", "b.example", "/?q"),
    ])
    func authorityOfAbsoluteFormWinsOverHost(target: String, authority: String, path: String) {
        let head = RequestDecoder.decode("GET \(target) HTTP/1.1\r\nHost: a.example\r\n\r\n").heads.first
        #expect(head?.request.authority?.description == authority)
        #expect(head?.request.target == path)
    }

    /// RFC 9112 §9.3.
    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: x, CLOSE\r\n", false), ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: keep-alive\r\n", true), ("HTTP/1.7", "", true),
    ])
    func versionAndConnectionFieldDecidePersistence(version: String, field: String, isKeptAlive: Bool) {
        let head = RequestDecoder.decode("GET / \(version)\r\nHost: a\r\n\(field)\r\n").heads.first
        #expect(head?.isKeptAlive == isKeptAlive)
    }

    @Test func joinsChunksDropsExtensionsAndJudgesTrailersAtAnyCut() {
        let text =
            Self.chunkedHead + "5;a=\"b\"\r\nhello\r\n00001\r\n!\r\n0;z\r\nContent-Length: 7\r\nX: y\r\n\r\n"
        let decoded = RequestDecoder.decode(text)
        #expect(decoded.contents == ["hello!"])
        #expect(decoded.suffix(2) == [.trailers(HTTPFields([HTTPField(name: .literal("X"), value: "y")])), .end])
        #expect(decoded.heads.first?.framing == .chunked)
        let bytes = Array(text.utf8)
        for cut in bytes.indices {
            #expect(RequestDecoder.decode([Array(bytes[..<cut]), Array(bytes[cut...])]) == decoded, "cut at \(cut)")
        }
    }

    @Test func requestsShareNeitherTrailersNorNominatedNames() {
        let first =
            Self.chunkedHead.replacing("\r\n\r\n", with: "\r\nConnection: X\r\n\r\n") + "0\r\nX: a\r\nY: b\r\n\r\n"
        let second = Self.chunkedHead + "0\r\nX: c\r\n\r\n"
        let decoded = RequestDecoder.decode(first + second + Self.chunkedHead + "0\r\n\r\n")
        let trailers = decoded.compactMap { if case .trailers(let fields) = $0 { fields } else { nil } }
        #expect(trailers.map { $0.map { "\($0.name.rawName): \($0.value)" } } == [["Y: b"], ["X: c"]])
        #expect(decoded.filter { $0 == .end }.count == 3)
    }

    @Test func decodesNothingAfterRefusal() {
        var decoder = RequestDecoder()
        decoder.append(ByteBuffer(string: "x\r\n"))
        #expect(throws: MessageRefusal.self) { try decoder.next() }
        decoder.append(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(throws: MessageRefusal.self) { try decoder.next() }
    }
}
