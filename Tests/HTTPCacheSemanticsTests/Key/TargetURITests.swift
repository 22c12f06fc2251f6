import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(20)), .tags(.key)) struct TargetURITests {
    @Test(
        arguments: [
            ("http://a.example", "http://a.example/"),
            ("HTTP://A.Example/", "http://a.example/"),
            ("http://a.example:80/", "http://a.example/"),
            ("https://a.example:443", "https://a.example/"),
            ("https://a.example:80/", "https://a.example:80/"),
            ("http://a.example:", "http://a.example/"),
            ("http://a.example:0080/", "http://a.example/"),
            ("http://a.example?", "http://a.example/?"),
            ("http://a.example?q", "http://a.example/?q"),
            ("http://a.example/#top", "http://a.example/"),
            ("http://a.example#?x", "http://a.example/"),
            ("http://a.example/a/../b//c/./", "http://a.example/a/../b//c/./"),
            ("http://a.example/%2F%2f%2e", "http://a.example/%2F%2f%2e"),
            ("http://a.example/a b|c", "http://a.example/a%20b%7Cc"),
            ("http://a.example/é?ü", "http://a.example/%C3%A9?%C3%BC"),
            ("http://a.example/%zz%4", "http://a.example/%25zz%254"),
            ("http://a.example/x?a=[1]&b={2}", "http://a.example/x?a=%5B1%5D&b=%7B2%7D"),
            ("http://a.example/x??y", "http://a.example/x??y"),
            ("http://a.example/a;b=c@d:e", "http://a.example/a;b=c@d:e"),
            ("http://a.example/\\x", "http://a.example/%5Cx"),
            ("http://a.example./", "http://a.example./"),
            ("http://[::1]:8080/", "http://[::1]:8080/"),
            ("http://[2001:DB8::A]/", "http://[2001:db8::a]/"),
            ("http://[::ffff:1.2.3.4]/", "http://[::ffff:1.2.3.4]/"),
            ("http://127.0.0.1/?%FF", "http://127.0.0.1/?%FF"),
        ] as [(String, String)]
    )
    func parsesWithMinimalChanges(text: String, uri: String) throws {
        let target = try TargetURI(text)
        #expect(target.uri == uri)
        // The result is already in its final form, for both initializers.
        #expect(try TargetURI(target.uri) == target)
        let request = HTTPRequest(
            method: .get,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget
        )
        #expect(TargetURI(request: request) == target)
    }

    @Test(
        arguments: [
            ("ftp://a.example/", TargetURIError.Code.unsupportedScheme), ("//a.example/", .unsupportedScheme),
            ("/x", .unsupportedScheme), ("", .unsupportedScheme), (" http://a.example/", .unsupportedScheme),
            ("httpss://a.example", .unsupportedScheme), ("http:", .missingHost), ("http:/x", .missingHost),
            ("http://", .missingHost), ("http:///x", .missingHost), ("http://:80/", .missingHost),
            ("http://u@a.example/", .userInformation), ("http://u:p@a.example/", .userInformation),
            ("http://a.example\\@b.example/", .userInformation), ("http://bücher.example/", .invalidHost),
            ("http://a b/", .invalidHost), ("http://a%2e/", .invalidHost), ("http://[::1/", .invalidHost),
            ("http://[1:2]/", .invalidHost), ("http://[::1%25eth0]/", .invalidHost), ("http://[1:::2]/", .invalidHost),
            ("http://[::1]x/", .invalidPort), ("http://a.example:0/", .invalidPort),
            ("http://a.example:65536/", .invalidPort),
            ("http://a.example:+80/", .invalidPort), ("http://a.example:80:80/", .invalidPort),
            ("http://a.example/\r\nX: y", .controlCharacter), ("http://a.example/\u{0}", .controlCharacter),
            ("http://a.example/%FF", .invalidPath), ("http://a.example/a%00b", .invalidPath),
            ("http://a.example/é%C3", .invalidPath),
            ("http://a.example/" + String(repeating: "a", count: 65_536), .tooLong),
            ("http://a.example/" + String(repeating: " ", count: 30_000), .tooLong),
        ] as [(String, TargetURIError.Code)]
    )
    func rejectsInvalidURIs(text: String, code: TargetURIError.Code) {
        let error = #expect(throws: TargetURIError.self) { try TargetURI(text) }
        #expect(error?.code == code)
        #expect((error?.message.utf8.count ?? 0) < 600)
    }

    @Test func givesTheParts() throws {
        let target = try TargetURI("HTTPS://A.Example:8443/p/q?x=1&y")
        #expect(target.scheme == "https")
        #expect(target.host == "a.example")
        #expect(target.port == 8443)
        #expect(target.path == "/p/q")
        #expect(target.query == "x=1&y")
        #expect(target.authority == "a.example:8443")
        #expect(target.requestTarget == "/p/q?x=1&y")
    }

    @Test func emptyQueryDiffersFromNoQuery() throws {
        let with = try TargetURI("http://a.example/?")
        let without = try TargetURI("http://a.example/")
        #expect(with.query?.isEmpty == true)
        #expect(without.query == nil)
        #expect(with != without)
        #expect(with.canonicalBytes != without.canonicalBytes)
    }

    @Test(arguments: ["/a|b", "/%zz", "/x?[1]", "/\"", "/a/../b", "//x", "/%FF", "/x?y?z"])
    func keepsAReceivedTargetUnchanged(path: String) {
        let target = TargetURI(request: HTTPRequest(method: .get, scheme: "http", authority: "A.example", path: path))
        #expect(target?.requestTarget == path)
        #expect(target?.host == "a.example")
    }

    @Test(arguments: ["*", "", "x", "http://a.example/", "?x", "/a b", "/a#b", "/é", "/\tx", "/\u{7F}x"])
    func unsendableRequestHasNoTarget(path: String) {
        let request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: path)
        #expect(TargetURI(request: request) == nil)
    }

    @Test func incompleteRequestHasNoTarget() {
        #expect(TargetURI(request: HTTPRequest(method: .get, scheme: nil, authority: "a.example", path: "/")) == nil)
        #expect(TargetURI(request: HTTPRequest(method: .get, scheme: "http", authority: nil, path: "/")) == nil)
        #expect(TargetURI(request: HTTPRequest(method: .get, scheme: "http", authority: "a", path: nil)) == nil)
        #expect(TargetURI(request: HTTPRequest(method: .get, scheme: "ws", authority: "a", path: "/")) == nil)
        #expect(TargetURI(request: HTTPRequest(method: .get, scheme: "http", authority: "u@a", path: "/")) == nil)
        #expect(TargetURI(request: HTTPRequest(method: .get, scheme: "http", authority: "a:0", path: "/")) == nil)
    }

    /// A target is found by the URL for which a client of a gateway sent it.
    @Test func readingsHaveWhatARequestHas() throws {
        let pieces = ["", "a", "/", "?", "%", "%zz", "%FF", "|", "{", "\"", "\\", ";"]
        let paths = pieces.flatMap { first in pieces.flatMap { second in pieces.map { "/\(first)\(second)\($0)" } } }
        for path in paths {
            for authority in ["a.example", "A.example:8443"] {
                let head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: path)
                let target = try #require(TargetURI(request: head))
                let readings = try TargetURI.readings(of: "HTTPS://\(authority)\(path)#fragment")
                #expect(readings.first == target && readings.count <= 2, "\(path)")
                let encoded = try? TargetURI("https://\(authority)\(path)")
                #expect(encoded.map { readings.contains($0) } ?? (readings.count == 1), "\(path)")
            }
        }
        #expect(try TargetURI.readings(of: "http://a.example").map(\.uri) == ["http://a.example/"])
        #expect(
            try TargetURI.readings(of: "http://a.example?x={").map(\.uri) == [
                "http://a.example/?x={", "http://a.example/?x=%7B",
            ]
        )
        #expect(try TargetURI.readings(of: "http://a.example/é b").map(\.uri) == ["http://a.example/%C3%A9%20b"])
        for text in [
            "", "/a", "a.example/{", "ftp://a.example/{", "http:///{", "http://u@a.example/{", "http://a.example/\n",
            "http://a\u{0}.example/",
        ] {
            #expect(throws: TargetURIError.self) { try TargetURI.readings(of: text) }
        }
    }

    /// `parsesUnchanged` finds, without parsing, the targets that a client may parse again.
    /// Mutants: a `%` that begins no escape passes, a path without its slash passes, the query is
    /// not examined.
    @Test func parsesUnchangedAgreesWithParsing() {
        let pieces = [
            "", "a", "/", "?", "%", "%4", "%41", "%zz", "%FF", "%00", "%C3%A9", "|", "[", "\"", "&=", "~", ":",
        ]
        let paths = pieces.flatMap { first in pieces.flatMap { second in pieces.map { "/\(first)\(second)\($0)" } } }
        var counts = [true: 0, false: 0]
        for path in paths {
            let head = HTTPRequest(method: .get, scheme: "https", authority: "a.example:8443", path: path)
            guard let target = TargetURI(request: head) else { continue }
            let parsesUnchanged = (try? TargetURI(target.uri)) == target
            counts[parsesUnchanged, default: 0] += 1
            #expect(target.parsesUnchanged == parsesUnchanged, "\(path)")
        }
        #expect(counts.allSatisfy { $0.value > 500 })
    }
}
