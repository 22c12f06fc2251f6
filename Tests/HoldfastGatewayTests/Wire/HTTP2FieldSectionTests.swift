import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Testing

@testable import HoldfastGateway

/// Mutants: a `:path` without a slash, a `Host` beside another `:authority`, lengths that are
/// judged by the stream alone.
@Suite(.timeLimit(.minutes(20)))
struct HTTP2FieldSectionTests {
    private static let plain = [
        (":method", "GET"), (":scheme", "https"), (":path", "/a?b=c"), (":authority", "a.example"),
    ]

    private func head(
        _ fields: [(String, String)],
        endsStream: Bool = true,
        limits: MessageLimits = MessageLimits()
    ) throws(MessageRefusal) -> RequestHead {
        var section = HTTP2FieldSection(limits: limits)
        for (name, value) in fields { _ = append(name, value, to: &section) }
        return try section.head(endsStream: endsStream)
    }

    private func append(_ name: String, _ value: String, to section: inout HTTP2FieldSection) -> Bool {
        Array(name.utf8).withUnsafeBufferPointer { name in
            Array(value.utf8).withUnsafeBufferPointer { section.append(name, $0) }
        }
    }

    private func reason(_ fields: [(String, String)], endsStream: Bool = true) -> MessageRefusal.Reason? {
        do throws(MessageRefusal) {
            _ = try head(fields, endsStream: endsStream)
            return nil
        } catch {
            return error.reason
        }
    }

    /// The plain request with some fields in place of its own, or more of them.
    private func changed(_ name: String, _ value: String?) -> [(String, String)] {
        var fields = Self.plain.filter { $0.0 != name }
        if let value { fields.append((name, value)) }
        return fields
    }

    @Test func readsARequest() throws {
        let head = try head(Self.plain + [("accept", "text/html"), ("x-a", "1"), ("x-a", "2")])
        #expect(head.request.method == .get)
        #expect(head.request.target == "/a?b=c")
        #expect(head.request.authority?.description == "a.example")
        #expect(head.request.receivedProtocol == .http2)
        #expect(head.request.content == .none)
        #expect(
            head.request.fields.map { "\($0.name.rawName): \($0.value)" } == ["accept: text/html", "x-a: 1", "x-a: 2"]
        )
    }

    /// RFC 9113 §8.2.3.
    @Test func joinsCrumbsOfACookieIntoOneField() throws {
        let head = try head(Self.plain + [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3")])
        #expect(head.request.fields[fields: .cookie].map(\.value) == ["a=1; b=2; c=3"])
    }

    @Test(arguments: ["", "a", "?q", "*", "http://b.example/", "/a b", "/a#b", "/ä", "//"])
    func rejectsInvalidTargets(path: String) {
        #expect(reason(changed(":path", path)) == (path == "//" ? nil : .target))
    }

    @Test func readsOptionsForTheServer() throws {
        var fields = changed(":path", "*")
        fields[0] = (":method", "OPTIONS")
        #expect(try head(fields).request.target == "*")
    }

    @Test(arguments: ["a.example", "A.EXAMPLE", "b.example", "a.example:80", "u@a.example", ""])
    func rejectsHostsThatDifferFromTheAuthority(host: String) {
        let isEqual = host.lowercased() == "a.example"
        #expect(reason(Self.plain + [("host", host)]) == (isEqual ? nil : .host))
        #expect(reason(Self.plain + [("host", "a.example"), ("host", "a.example")]) == .host)
    }

    @Test func takesTheHostWithoutAnAuthority() throws {
        #expect(
            try head(changed(":authority", nil) + [("host", "b.example")]).request.authority?.description == "b.example"
        )
        #expect(reason(changed(":authority", nil)) == .host)
        #expect(reason(changed(":authority", "u@a.example")) == .host)
    }

    private static let methods: [(String?, MessageRefusal.Reason?)] = [
        (nil, .method), ("", .method), ("G T", .method), ("CONNECT", .method), ("MY", nil),
    ]

    @Test(arguments: methods) func rejectsInvalidMethods(method: String?, refusal: MessageRefusal.Reason?) {
        #expect(reason(changed(":method", method)) == refusal)
    }

    private static let schemes: [(String?, MessageRefusal.Reason?)] = [
        (nil, .target), ("ftp", .target), ("HTTP", nil), ("https", nil),
    ]

    @Test(arguments: schemes) func acceptsOnlyHTTPAndHTTPSSchemes(scheme: String?, refusal: MessageRefusal.Reason?) {
        #expect(reason(changed(":scheme", scheme)) == refusal)
    }

    @Test(arguments: ["+6", "6, 6", "-1", "6 6", "0x6", "", "99999999999999999999"])
    func rejectsInvalidContentLengths(length: String) {
        #expect(reason(Self.plain + [("content-length", length)], endsStream: false) == .contentLength)
    }

    @Test func comparesLengthsWithTheEnd() throws {
        #expect(reason(Self.plain + [("content-length", "6")]) == .contentLength)
        #expect(
            reason(Self.plain + [("content-length", "6"), ("content-length", "6")], endsStream: false) == .contentLength
        )
        #expect(try head(Self.plain + [("content-length", "0")]).request.content == .length(0))
        #expect(try head(Self.plain + [("content-length", "6")], endsStream: false).request.content == .length(6))
        #expect(try head(Self.plain, endsStream: false).request.content == .unknownLength)
    }

    @Test(arguments: [
        ("connection", "close"), ("keep-alive", "1"), ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"), ("a b", "c"), ("", "c"), (":protocol", "websocket"), ("a", "b\r\nc: d"), ("a", "b\0"),
    ])
    func rejectsConnectionFieldsAndInvalidFields(name: String, value: String) {
        #expect(reason(Self.plain + [(name, value)]) != nil)
    }

    @Test func limitsEachPart() {
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock, limits.fieldCount) = (100, 200, 4)
        func status(_ fields: [(String, String)]) -> Int? {
            do throws(MessageRefusal) {
                _ = try head(fields, limits: limits)
                return nil
            } catch {
                return error.status
            }
        }
        #expect(status(changed(":path", "/" + String(repeating: "a", count: 100))) == 414)
        #expect(status(Self.plain + [("a", String(repeating: "a", count: 200))]) == 431)
        #expect(status(Self.plain + (0..<5).map { ("a", "\($0)") }) == 431)
        #expect(status(Self.plain + (0..<4).map { ("a", "\($0)") }) == nil)
    }

    /// Without its last fields it would be another request, which may have a response.
    ///
    /// Mutant: the bytes of a section that exceeds a limit are looked up.
    @Test func sectionThatExceedsLimitHasNoBytesToLookUp() {
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock, limits.fieldCount) = (64, 128, 4)
        let excess: [[(String, String)]] = [
            [(":path", "/" + String(repeating: "a", count: 64))], [("a", String(repeating: "a", count: 128))],
            (0..<5).map { ("a", "\($0)") },
        ]
        for fields in [[]] + excess {
            for order in [Self.plain + fields, fields + Self.plain] {
                var section = HTTP2FieldSection(limits: limits)
                for (name, value) in order { _ = append(name, value, to: &section) }
                #expect((section.lookupKey != nil) == fields.isEmpty)
                section.clear()
                for (name, value) in Self.plain { _ = append(name, value, to: &section) }
                #expect(section.lookupKey != nil, "the next one is not judged by it")
            }
        }
    }

    @Test func endsBombsWhileDecodingThem() {
        var section = HTTP2FieldSection(limits: MessageLimits())
        let value = String(repeating: "a", count: 4000)
        var count = 0
        while append("a", value, to: &section), count < 1000 { count += 1 }
        // 4 × (64 KiB + 8 KiB).
        #expect(count == 73)
        section.clear()
        count = 0
        while append("a", "", to: &section), count < 1000 { count += 1 }
        #expect(count == 512)
    }

    @Test func sameBytesAreTheSameRequest() throws {
        var section = HTTP2FieldSection(limits: MessageLimits())
        for (name, value) in Self.plain { _ = append(name, value, to: &section) }
        let bytes = try #require(section.lookupKey)
        section.clear()
        for (name, value) in Self.plain { _ = append(name, value, to: &section) }
        #expect(section.lookupKey == bytes)
        let again = try HTTP2FieldSection(bytes, limits: MessageLimits()).head(endsStream: true)
        #expect(try again.request == head(Self.plain).request)
        section.clear()
        // The same text, divided in another way.
        for (name, value) in [(":methodG", "ET")] + Self.plain.dropFirst() { _ = append(name, value, to: &section) }
        #expect(section.lookupKey != bytes)
    }
}
