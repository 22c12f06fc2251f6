import HTTPTypes
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// A rejected request's problem names the fault, the limit and its setting.
@Suite(.timeLimit(.minutes(20))) struct RefusalWordsTests {
    private static let malformed = "The request is malformed or not supported"
    private static let tooLarge = "The request exceeds a limit"

    private static func request(_ fields: String) -> String { "GET / HTTP/1.1\r\n\(fields)\r\n" }

    static let cases: [(String, String, String)] = [
        (request(""), malformed, "The request has no 'Host' field."),
        (request("Host: a\r\nHost: a\r\n"), malformed, "The request has several 'Host' fields."),
        (request("Host: a b\r\n"), malformed, "'Host' or ':authority' is not a host"),
        (request("Host: a\r\nA b\r\n"), malformed, "A field line has no colon."),
        (request("Host: a\r\nA : b\r\n"), malformed, "A field line has whitespace before its colon. Remove it."),
        (request("Host: a\r\n(: b\r\n"), malformed, "A field line has a malformed name"),
        (
            "GET /\u{E4} HTTP/1.1\r\nHost: a\r\n\r\n", malformed,
            "The request target contains a byte outside ASCII. Percent-encode it."
        ),
        ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", malformed, "The request target contains a '#'."),
        (
            request("Host: a\r\n" + String(repeating: "A: b\r\n", count: 128)), tooLarge,
            "The request has more than 128 field lines."
        ),
        (
            request("Host: a\r\nA: \(String(repeating: "b", count: 1000))\r\n"), tooLarge,
            "The request's fields have more than 1000 bytes. Send shorter or fewer fields"
        ),
        (
            "GET /\(String(repeating: "a", count: 500)) HTTP/1.1\r\n", tooLarge,
            "The request line has more than 500 bytes. Send a shorter URL."
        ),
        (
            "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", malformed,
            "CONNECT opens a tunnel through a forward proxy, and the gateway opens none."
        ),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", malformed,
            "The connection begins with a PROXY protocol header, which this listener does not expect."
        ),
        ("\u{16}\u{3}\u{1}", malformed, "The first byte looks like TLS"),
        ("\r\n\u{16}", malformed, "The first byte looks like TLS"),
    ]

    /// Mutants: every fault of the host has one sentence; the two limits of fields have one;
    /// CONNECT has that of a malformed method.
    @Test(arguments: cases)
    func problemNamesTheFault(_ request: String, _ title: String, _ words: String) throws {
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock) = (500, 1000)
        let problem = Problem(try #require(RequestDecoder.decode(request, limits: limits).refusal))
        #expect(problem.title == title && problem.detail.hasPrefix(words), "\(problem.detail)")
        // The message may arrive in pieces.
        let pieces = request.utf8.map { [$0] }
        #expect(RequestDecoder.decode(pieces, limits: limits).refusal.map { Problem($0).detail } == problem.detail)
    }

    @Test func limitOfTheRequestLineIsNamedOnlyIfASettingLowersIt() throws {
        let line = "GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\n"
        let problem = Problem(try #require(RequestDecoder.decode(line, limits: MessageLimits()).refusal))
        let words = "The request line has more than 8192 bytes. Send a shorter URL."
        #expect(problem.shown(isTrusted: true).detail == words)
        var limits = MessageLimits()
        limits.startLine = 500
        let lowered = Problem(try #require(RequestDecoder.decode(line, limits: limits).refusal))
        #expect(lowered.shown(isTrusted: true).detail.hasSuffix(" The limit is 'limits.request-head'."))
    }

    @Test func contentNamesItsLimit() {
        let problem = Problem(ContentTooLarge(limit: 1024))
        #expect(problem.title == Self.tooLarge && problem.status == 413)
        #expect(problem.shown(isTrusted: false).detail == "The content has more than 1024 bytes. Send less.")
        #expect(problem.shown(isTrusted: true).detail.hasSuffix("Send less. The limit is 'limits.request-body'."))
    }

    @Test(arguments: MessageRefusal.Reason.allCases)
    func everyReasonIsASentence(_ reason: MessageRefusal.Reason) {
        let words = MessageRefusal(reason).words
        #expect(words.hasSuffix(".") && words.first.map { $0.isLetter || $0 == "'" } == true, "\(words)")
    }
}
