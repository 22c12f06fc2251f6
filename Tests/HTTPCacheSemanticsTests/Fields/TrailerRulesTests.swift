import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Mutants: a name that is compared with its case; a nominated name that passes.
@Suite(.timeLimit(.minutes(20)))
struct TrailerRulesTests {
    private func passing(_ names: [String], nominating connection: String? = nil) -> [String]? {
        var head = HTTPFields()
        if let connection { head[.connection] = connection }
        var section = HTTPFields()
        for name in names.compactMap({ HTTPField.Name($0) }) { section.append(HTTPField(name: name, value: "x")) }
        return TrailerRules(head).passing(section)?.map(\.name.rawName)
    }

    @Test(arguments: [
        "X-Sum", "Content-Digest", "Content-MD5", "Repr-Digest", "Digest", "ETag", "Server-Timing", "grpc-status",
        "grpc-message", "Signature", "Signature-Input", "AMZ-Checksum",
    ])
    func passesWhatOnlyTheEndOfMessageCanState(_ name: String) {
        #expect(passing([name]) == [name])
    }

    @Test(arguments: [
        "Transfer-Encoding", "Content-Length", "Host", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade",
        "HTTP2-Settings", "Proxy-Connection", "Authorization", "Proxy-Authorization", "Proxy-Authenticate",
        "WWW-Authenticate", "Authentication-Info", "Proxy-Authentication-Info", "Proxy-Status", "Set-Cookie",
        "Cookie", "Cache-Control", "Pragma", "CDN-Cache-Control", "Surrogate-Control", "Age", "Date", "Expires",
        "Vary", "Warning", "Content-Encoding", "Content-Type", "Content-Range", "Content-Location", "Max-Forwards",
        "Expect", "If-Match", "If-None-Match", "If-Modified-Since", "If-Range", "If-Anything", "Range", "Location",
        "Retry-After", "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Anything",
        "X-Real-IP", "Cache-Status", "X-Request-Id", "Traceparent", "X-HTTP-Method-Override", "X-Original-URL",
        "X-Accel-Redirect", "X-API-Key", "Access-Control-Allow-Origin", "Remote-User", "X_Forwarded_For", "a_b",
        "Accept-Encoding", "Origin", "Early-Data",
    ])
    func removesFramingRoutingCredentialsAndModifiersInAnyCase(_ name: String) {
        for spelling in [name, name.lowercased(), name.uppercased()] { #expect(passing([spelling]) == nil) }
    }

    @Test func removesOneByOne() {
        #expect(passing(["X-A", "Host", "X-B", "X-A", "Content-Length"]) == ["X-A", "X-B", "X-A"])
        #expect(passing([]) == nil)
    }

    /// RFC 9110 §7.6.1.
    @Test func removesNamesThatConnectionLists() {
        #expect(passing(["X-A", "X-B"], nominating: "close, x-a") == ["X-B"])
        let many = (0..<20).map { "X-\($0)" }
        #expect(passing(many + ["X-Kept"], nominating: many.joined(separator: ",")) == ["X-Kept"])
        #expect(passing(["X-A"], nominating: "keep-alive") == ["X-A"])
    }
}
