import HTTPTypes
import NIOCore
import Testing

@testable import HTTPWire

@Suite(.timeLimit(.minutes(20))) struct ConnectRequestTests {
    private static let request =
        "CONNECT A.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic eA==\r\n\r\n"

    private func read(_ text: String) -> ConnectRequest.Reading { ConnectRequest.read(ByteBuffer(string: text)) }

    @Test func readsTheSameHoweverItIsCut() throws {
        let all = Array((Self.request + "\u{16}more").utf8)
        for length in 0...all.count {
            let reading = ConnectRequest.read(ByteBuffer(bytes: all.prefix(length)))
            guard length >= Self.request.utf8.count else {
                #expect(reading == .needsMore, "\(length)")
                continue
            }
            guard case .connect(let request) = reading else {
                Issue.record("\(reading)")
                return
            }
            #expect(request.host.name == "a.example" && request.port == 443)
            #expect(request.length == Self.request.utf8.count)
            #expect(request.fields[.proxyAuthorization] == "Basic eA==")
        }
    }

    @Test(arguments: ["GET http://a.example/ HTTP/1.1\r\n\r\n", "connect a:1 HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}"])
    func otherBeginningsAreNotItsConcern(text: String) {
        #expect(read(text) == .other)
    }

    @Test(arguments: [
        ("CONNECT a.example HTTP/1.1\r\n\r\n", 400), ("CONNECT a.example:443 HTTP/2.0\r\n\r\n", 505),
        ("CONNECT user@a.example:443 HTTP/1.1\r\n\r\n", 400), ("CONNECT a:1 b HTTP/1.1\r\n\r\n", 400),
        ("CONNECT https://a.example:443 HTTP/1.1\r\n\r\n", 400), ("CONNECT a:99999 HTTP/1.1\r\n\r\n", 400),
        ("CONNECT a:1 HTTP/1.1\r\n folded\r\n\r\n", 400), ("CONNECT a:1 HTTP/1.1\nX: y\r\n\r\n", 400),
        ("CONNECT a:1 HTTP/1.1\r\nX: " + String(repeating: "y", count: 16 << 10), 431),
    ])
    func malformedRequestsAreRefused(text: String, status: Int) {
        guard case .refused(let refusal) = read(text) else {
            Issue.record("\(read(text))")
            return
        }
        #expect(refusal.status == status)
    }
}
