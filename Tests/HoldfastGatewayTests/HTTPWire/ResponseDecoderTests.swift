import HTTPTypes
import NIOCore
import Testing

@testable import HoldfastGateway

extension ResponseDecoder {
    static func decode(
        _ pieces: [[UInt8]],
        method: HTTPRequest.Method = .get,
        closing: Bool = true
    ) -> (events: [Decoded<Head>], undecoded: Int) {
        var decoder = ResponseDecoder(method: method)
        var events: [Decoded<Head>] = []
        do throws(MessageRefusal) {
            for (index, piece) in pieces.enumerated() {
                decoder.append(ByteBuffer(bytes: piece))
                if closing, index == pieces.count - 1 { decoder.closeInput() }
                while let event = try decoder.next() {
                    switch event {
                    case .interim(let response): events.append(.head(.interim(response.status.code)))
                    case .head(let head): events.append(.head(.final(head)))
                    case .body(let bytes): events.append(content: bytes)
                    case .end(let trailers): events += (trailers.map { [.trailers($0)] } ?? []) + [.end]
                    }
                }
            }
        } catch {
            events.append(.refused(error))
        }
        return (events, decoder.undecodedCount)
    }

    static func decode(_ text: String, method: HTTPRequest.Method = .get) -> [Decoded<Head>] {
        decode([Array(text.utf8)], method: method).events
    }

    enum Head: Hashable {
        case interim(Int)
        case final(ResponseHead)
    }
}

extension Sequence where Element == Decoded<ResponseDecoder.Head> {
    var refusal: MessageRefusal? {
        for case .refused(let refusal) in self { return refusal }
        return nil
    }

    var head: ResponseHead? {
        for case .head(.final(let head)) in self { return head }
        return nil
    }

    var content: String? {
        for case .content(let bytes) in self { return String(decoding: bytes, as: UTF8.self) }
        return nil
    }
}

/// Response decoder, RFC 9112.
@Suite(.timeLimit(.minutes(20)))
struct ResponseDecoderTests {
    /// Mutants: `closeInput` that ends every framing; any check of `Framing` or `StatusLine` left
    /// out.
    @Test(arguments: [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "transfer-encoding"
        ),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "transfer-encoding"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "transfer-encoding"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "transfer-coding"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "content-length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab", "content-length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "content-length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "truncated"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "truncated"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "truncated"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "truncated"),
        ("HTTP/1.1 200 OK\r\nContent-", "truncated"), ("HTTP/1.1 200", "truncated"), ("", "truncated"),
        ("HTTP/1.1 103 E\r\n\r\n", "truncated"),
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "field-folding"),
        ("HTTP/1.1 200 OK\r\nX : a\r\n\r\n", "field-line"),
        ("HTTP/1.1 200 OK\r\nX: \u{0}\r\n\r\n", "field-value"),
        ("HTTP/1.1 200 OK\nX: a\n\n", "bare-line-feed"),
        ("HTTP/1.1 200 O\u{1}K\r\n\r\n", "start-line"), ("HTTP/1.1 20 OK\r\n\r\n", "start-line"),
        ("HTTP/1.1 099 OK\r\n\r\n", "start-line"), ("HTTP/1.1 2000 OK\r\n\r\n", "start-line"),
        ("HTTP/1.1  200 OK\r\n\r\n", "start-line"), ("HTTP/2.0 200 OK\r\n\r\n", "version"),
        ("ICY 200 OK\r\n\r\n", "start-line"), ("<html>not HTTP at all</html>\r\n", "start-line"),
        ("HTTP/1.1 101 Switching\r\n\r\n", "switched-protocols"),
        (String(repeating: "HTTP/1.1 103 E\r\n\r\n", count: 17), "too-many-interim-responses"),
    ])
    func rejectsResponsesThatWouldPoisonACache(response: String, reason: String) {
        #expect(ResponseDecoder.decode(response).refusal?.reason.rawValue == reason)
    }

    @Test func bytesAfterTheEndAreNotContent() {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n".utf8)
        let decoded = ResponseDecoder.decode([bytes], closing: false)
        #expect(decoded.events.content == "ab")
        #expect(decoded.events.last == .end)
        #expect(decoded.undecoded == 17)
    }

    /// RFC 9112 §6.3.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTPRequest.Method.head),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .head),
        ("HTTP/1.1 200 OK\r\n\r\n", .head),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", .get),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", .get),
    ])
    func responseHasNoContentWhateverTheFieldsState(response: String, method: HTTPRequest.Method) {
        let decoded = ResponseDecoder.decode(response, method: method)
        #expect(decoded.count == 2)
        #expect(decoded.head?.framing == Framing.none)
        #expect(decoded.last == .end)
    }

    @Test func contentWithoutLengthEndsWithTheConnection() {
        let decoded = ResponseDecoder.decode("HTTP/1.1 200 OK\r\n\r\nhello")
        #expect(decoded.content == "hello")
        #expect(decoded.last == .end)
        #expect(decoded.head?.isKeptAlive == false)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK", 200, "OK"), ("HTTP/1.1 200 ", 200, ""), ("HTTP/1.1 200", 200, ""),
        ("HTTP/1.1 999 Way  out ", 999, "Way  out "), ("HTTP/1.0 299 a:b", 299, "a:b"),
    ])
    func readsStatusLinesAsServersWriteThem(line: String, code: Int, phrase: String) {
        let status = ResponseDecoder.decode("\(line)\r\nContent-Length: 0\r\n\r\n").head?.response.status
        #expect(status?.code == code)
        #expect(status?.reasonPhrase == phrase)
    }

    @Test func reasonPhraseKeepsItsBytes() throws {
        let line = Array("HTTP/1.1 200 ".utf8) + [0x80, 0xE9, 0xFF]
        let decoded = ResponseDecoder.decode([line + Array("\r\nContent-Length: 0\r\n\r\n".utf8)]).events
        let status = try #require(decoded.head?.response.status)
        let written = ByteBuffer.head { $0.writeStatusLine(status) }
        #expect(Array(written.readableBytesView) == line + [0x0D, 0x0A])
    }

    @Test(arguments: [
        "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nT: u\r\n\r\n",
        "HTTP/1.0 200 OK\r\nX: y\r\n\r\nuntil the end",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
    ])
    func eventsDoNotDependOnCuts(response: String) {
        let bytes = Array(response.utf8)
        let whole = ResponseDecoder.decode([bytes]).events
        #expect(!whole.isEmpty)
        for index in bytes.indices {
            #expect(ResponseDecoder.decode([Array(bytes[..<index]), Array(bytes[index...])]).events == whole)
        }
        #expect(ResponseDecoder.decode(bytes.map { [$0] }).events == whole)
    }

    /// RFC 9112 §9.3.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: x\r\nConnection:,\tkeep-alive \r\n\r\n", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alived\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, close\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\nConnection: x , CLOSE\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: closed, clos\r\n\r\n", true),
    ])
    func versionAndConnectionFieldDecidePersistence(response: String, isKeptAlive: Bool) {
        #expect(ResponseDecoder.decode(response).head?.isKeptAlive == isKeptAlive)
    }

    @Test func neverWritesFieldThatWouldStartAnotherOne() {
        // HTTPTypes itself replaces line ends and NUL by spaces. It leaves other controls.
        var fields = HTTPFields()
        fields.append(HTTPField(name: .server, lenientValue: [0x61, 0x01, 0x62]))
        fields.append(HTTPField(name: .age, value: "1"))
        let written = ByteBuffer.head { [fields] in $0.writeFields(fields) }
        #expect(String(buffer: written) == "Age: 1\r\n")
    }

    @Test(arguments: [0, 1, 990, 991, 992, 993, 994, 1024, 5000, 100_000])
    func headIsCompleteHoweverLongItIs(_ length: Int) {
        let value = String(repeating: "x", count: length)
        let written = ByteBuffer.head {
            $0.writeFields([.server: "a", .via: value])
            $0.writeField("Age", "1")
            $0.writeEndOfHead()
        }
        #expect(String(buffer: written) == "Server: a\r\nVia: \(value)\r\nAge: 1\r\n\r\n")
    }
}
