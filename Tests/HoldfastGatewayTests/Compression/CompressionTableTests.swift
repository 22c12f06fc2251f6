import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// The head of a response, and what happens to its content.
@Suite(.timeLimit(.minutes(20)))
struct CompressionTableTests {
    /// The effect on a response.
    enum Form: String {
        /// It is not changed.
        case untouched
        /// It has no coding, and varies.
        case plain
        case compressed
        /// The client needs all of the content.
        case whole
        /// It describes the compressed form: a 304 without content.
        case weakened
    }

    /// One request and its response.
    struct Case: CustomTestStringConvertible {
        var method = HTTPRequest.Method.get
        var request: HTTPFields = [.acceptEncoding: "gzip"]
        var status = 200
        var fields: HTTPFields = [:]
        var length: Int64? = 4000
        var form = Form.compressed

        var testDescription: String {
            "\(method) \(request) \(status) \(fields) \(length.map { "\($0)" } ?? "-"): \(form)"
        }
    }

    /// Fields that describe the origin's bytes.
    private static let described: HTTPFields = [
        .contentType: "text/html", .eTag: "\"x\"", .acceptRanges: "bytes", .literal("Content-MD5"): "a",
        .literal("Digest"): "a", .literal("Content-Digest"): "a", .literal("Repr-Digest"): "a",
    ]

    private func judge(_ test: Case, permits: SharedPermits = SharedPermits()) throws -> (Form, HTTPFields) {
        var route = try GatewayRoute(origin: GatewayOrigin("http://127.0.0.1:1"))
        route.compresses = true
        var configuration = GatewayConfiguration(origin: route.origin, port: 0)
        configuration.routes = try GatewayRoutes([route])
        let compression = try #require(ResponseCompression(configuration, permits, route: 0))
        var fields = Self.described
        for field in test.fields { fields[fields: field.name] = [] }
        for field in test.fields where !field.value.isEmpty { fields.append(field) }
        if let length = test.length { fields[.contentLength] = "\(length)" }
        let response = HTTPResponse(status: HTTPResponse.Status(code: test.status), headerFields: fields)
        var head = GatewayResponseHead(response: response, facts: .relayed, via: "1.1 g", cacheStatus: "g; fwd=miss")
        let request = GatewayRequest(
            method: test.method,
            target: "/",
            authority: RequestedHost("g"),
            fields: test.request,
            receivedProtocol: .http11,
            content: .none
        )
        let subject = TransformedResponse(
            request: request,
            admission: ClientAdmission(
                GatewayClient(address: "127.0.0.1"),
                by: Admission(),
                settings: 0,
                configuration
            ),
            stored: nil,
            length: test.length.map { StatedLength(clamping: $0) }
        )
        let use = compression.handle(&head, of: subject)
        let now = head.response.headerFields
        let form: Form =
            switch use {
            case .transformed: .compressed
            case .partial, .maybePartial: .whole
            case .unchanged where now == fields: .untouched
            case .unchanged where now[.contentEncoding] == "gzip": .compressed
            case .unchanged where now[.contentLength] == nil && fields[.contentLength] != nil: .weakened
            case .unchanged: .plain
            }
        return (form, now)
    }

    private func check(_ test: Case) throws {
        let (form, fields) = try judge(test)
        #expect(form == test.form)
        if form != .untouched, form != .whole {
            let names = fields[values: .vary].joined(separator: ",").lowercased()
            #expect(names.contains("accept-encoding") || names.contains("*"))
        }
        guard form == .compressed || form == .weakened else { return }
        if let tag = fields[.eTag] { #expect(tag.hasPrefix("W/") || !tag.hasPrefix("\"")) }
        for name in Self.describing { #expect(fields[name] == nil, "\(name)") }
    }

    private static let describing: [HTTPField.Name] = [
        .contentLength, .acceptRanges, .literal("Content-MD5"), .literal("Digest"), .literal("Content-Digest"),
        .literal("Repr-Digest"),
    ]

    // MARK: Codings that clients accept

    private static let accepted: [(String?, Bool)] = [
        (nil, false), ("", false), ("gzip", true), ("GZip", true), ("x-gzip", true), ("X-GZIP", true), ("*", true),
        ("gzip, br", true), ("br, gzip", true), ("br", false), ("deflate", false), ("zstd, br", false),
        ("deflate, gzip;q=1.0, *;q=0.5", true), ("gzip;q=0", false), ("gzip;q=0.0", false), ("gzip;q=0.000", false),
        ("gzip;q=0.001", true), ("gzip;q=1", true), ("gzip;q=1.000", true), ("gzip;q=1.001", false),
        ("gzip;q=2", false), ("gzip;q=", false), ("gzip;q", false), ("gzip;q=0.5;x=1", false), ("gzip ; q=0.5", true),
        ("gzip;Q=0.5", true), ("*;q=0", false), ("*;q=0.1", true), ("gzip, *;q=0", true), ("gzip;q=0, *", false),
        ("identity", false), ("identity;q=0", false), ("identity;q=0, gzip", true), ("identity;q=0, *", true),
        ("identity, gzip", true), ("identity;q=0.5, gzip", true), ("identity, gzip;q=0.5", false),
        ("identity;q=1, *;q=0", false), ("identity;q=0.5, *;q=0.4", false), ("gzip;q=0.5, identity;q=0.5", true),
        ("gzip, gzip;q=0", false), ("gzip;q=0, gzip", false), (",gzip,,", true), ("gzip gzip", false), ("gz ip", false),
        ("\"gzip\"", false), ("gzip;", false), ("gzip,", true), ("gzipped", false), ("compress, x-compress", false),
    ]

    static let codings: [Case] = accepted.flatMap { value, isCompressed in
        var fields: HTTPFields = [:]
        if let value { fields[.acceptEncoding] = value }
        return [HTTPRequest.Method.get, .head].map {
            Case(method: $0, request: fields, form: isCompressed ? .compressed : .plain)
        }
    }

    @Test(arguments: codings) func followsWhatTheClientAccepts(test: Case) throws { try check(test) }

    // MARK: Types

    private static let mediaTypes: [(String, Bool)] = [
        ("text/html", true), ("text/html; charset=utf-8", true), ("TEXT/HTML", true), ("text/html;", true),
        ("text/plain", true), ("text/css", true), ("text/csv", true), ("text/javascript", true), ("text/xml", true),
        ("text/markdown", true), ("text/vtt", true), ("text/x-component", true), ("text/calendar", true),
        ("application/json", true), ("application/ld+json", true), ("application/problem+json", true),
        ("application/vnd.api+json; v=1", true), ("application/manifest+json", true), ("application/geo+json", true),
        ("application/x-ndjson", true), ("application/jsonl", true), ("application/javascript", true),
        ("application/x-javascript", true), ("application/ecmascript", true), ("application/xml", true),
        ("application/rss+xml", true), ("application/atom+xml", true), ("application/xhtml+xml", true),
        ("application/soap+xml", true), ("image/svg+xml", true), ("application/yaml", true),
        ("application/vnd.oai.openapi+yaml", true), ("application/wasm", true), ("font/ttf", true), ("font/otf", true),
        ("application/vnd.ms-fontobject", true), ("image/bmp", true), ("image/x-icon", true),
        ("image/vnd.microsoft.icon", true), ("text/event-stream", false), ("text/event-stream; charset=utf-8", false),
        ("Text/Event-Stream", false), ("image/png", false), ("image/jpeg", false), ("image/webp", false),
        ("image/avif", false), ("image/gif", false), ("video/mp4", false), ("audio/mpeg", false), ("font/woff", false),
        ("font/woff2", false), ("application/pdf", false), ("application/zip", false), ("application/gzip", false),
        ("application/octet-stream", false), ("application/x-tar", false), ("application/grpc", false),
        ("application/grpc-web+proto", false), ("multipart/form-data; boundary=x", false), ("multipart/mixed", false),
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", false), ("model/gltf-binary", false), ("text", false),
        ("", false), ("application/json-seq", false), ("application/jsonp", false), ("x+jsonx", false),
    ]

    static let types: [Case] = mediaTypes.map { Case(fields: [.contentType: $0], form: $1 ? .compressed : .untouched) }

    @Test(arguments: types) func compressesOnlyContentThatBecomesShorter(test: Case) throws { try check(test) }

    // MARK: Responses

    private static let otherStatuses = [
        201, 202, 204, 205, 207, 226, 300, 301, 302, 307, 308, 400, 401, 403, 405, 410, 412, 416, 426, 429, 500, 502,
        503, 504,
    ]
    private static let lengths: [(Int64?, Bool)] = [
        (0, false), (1, false), (1023, false), (1024, true), (1025, true), (8192, true), (1 << 20, true),
        (Int64.max, true), (nil, true),
    ]
    private static let contentCodings: [(String, Bool)] = [
        ("gzip", false), ("br", false), ("zstd", false), ("deflate", false), ("gzip, br", false), ("GZIP", false),
        ("identity", true), ("Identity", true), ("identity, gzip", false), ("aes128gcm", false), ("x-gzip", false),
    ]
    private static let directives: [(String, Bool)] = [
        ("no-transform", false), ("No-Transform", false), ("public, no-transform", false), ("no-store", true),
        ("private", true), ("max-age=60", true), ("no-transformers", true), ("no-cache", true),
    ]

    static let responses: [Case] = {
        var cases = [200, 203, 404].map { Case(status: $0) }
        cases += otherStatuses.map { Case(status: $0, form: .untouched) }
        cases += lengths.map { Case(length: $0, form: $1 ? .compressed : .untouched) }
        cases += contentCodings.map { Case(fields: [.contentEncoding: $0], form: $1 ? .compressed : .untouched) }
        cases += directives.map { Case(fields: [.cacheControl: $0], form: $1 ? .compressed : .untouched) }
        return cases
    }()

    @Test(arguments: responses) func judgesTheResponse(test: Case) throws { try check(test) }

    // MARK: Requests

    private static let methods: [HTTPRequest.Method] = [
        .post, .put, .patch, .delete, .options, .trace,
    ]
    private static let credentials: [HTTPField.Name] = [
        .authorization, .cookie, .literal("X-Api-Key"), .literal("Api-Key"), .literal("X-Auth-Token"),
        .literal("X-Access-Token"), .literal("X-Session-Id"),
    ]
    private static let others: [HTTPField.Name] = [
        .userAgent, .accept, .acceptLanguage, .referer, .literal("X-Requested-With"),
    ]

    static let requests: [Case] = {
        var cases = methods.map { Case(method: $0, form: .untouched) }
        for method in [HTTPRequest.Method.get, .head] {
            cases += credentials.map {
                Case(method: method, request: [.acceptEncoding: "gzip", $0: "s=1"], form: .plain)
            }
            cases += others.map { Case(method: method, request: [.acceptEncoding: "gzip", $0: "a"]) }
        }
        return cases
    }()

    /// Mutant: `gzip-compresses-with-credentials`.
    @Test(arguments: requests) func judgesTheRequest(test: Case) throws { try check(test) }

    // MARK: Ranges

    private static let date = "Thu, 01 Jan 2015 00:00:00 GMT"

    static let ranges: [Case] = {
        let part: HTTPFields = [.contentRange: "bytes 0-9/4000"]
        let tags: [String?] = [nil, "\"x\"", "W/\"x\"", "\"y\""]
        var cases = tags.map { Case(request: range($0), status: 206, fields: part, form: .plain) }
        for condition in [date, "Thursday, 01-Jan-15 00:00:00 GMT", "x"] {
            for length in ["4000", "*"] {
                let part: HTTPFields = [.contentRange: "bytes 0-9/\(length)"]
                cases.append(Case(request: range(condition), status: 206, fields: part, form: .whole))
            }
        }
        for (type, length) in [("image/png", 4000), ("text/html", 100), ("text/event-stream", 4000)] {
            let part: HTTPFields = [.contentType: type, .contentRange: "bytes 0-9/\(length)"]
            cases.append(Case(request: range(date), status: 206, fields: part, form: .untouched))
        }
        let parts: HTTPFields = [.contentType: "multipart/byteranges; boundary=x"]
        cases.append(Case(request: range(date), status: 206, fields: parts, form: .whole))
        cases.append(Case(request: range(nil), status: 206, fields: parts, form: .untouched))
        // The origin ignored the range.
        cases += [nil, "\"x\"", date].map { Case(request: range($0)) }
        return cases
    }()

    private static func range(_ condition: String?) -> HTTPFields {
        var fields: HTTPFields = [.acceptEncoding: "gzip", .range: "bytes=0-9"]
        if let condition { fields[.ifRange] = condition }
        return fields
    }

    /// Mutant: `gzip-combines-forms-by-date`.
    @Test(arguments: ranges) func neverCompressesAPart(test: Case) throws { try check(test) }

    // MARK: Tags

    static let tags: [(tag: String, result: String?)] = [
        ("\"x\"", "W/\"x\""), ("\"\"", "W/\"\""), ("\"a-gzip\"", "W/\"a-gzip\""), ("W/\"x\"", "W/\"x\""),
        ("W/\"\"", "W/\"\""), ("x", "x"), ("\"a b\"", "W/\"a b\""), ("\"a\\\"", "W/\"a\\\""),
    ]

    /// Mutant: `rewrite-keeps-a-strong-tag`.
    @Test(arguments: tags, [HTTPRequest.Method.get, .head])
    func aStrongTagNamesNoCompressedContent(tag: (tag: String, result: String?), method: HTTPRequest.Method) throws {
        let accepting = Case(method: method, fields: [.eTag: tag.tag])
        #expect(try judge(accepting).1[.eTag] == tag.result)
        let refusing = Case(method: method, request: [:], fields: [.eTag: tag.tag])
        #expect(try judge(refusing).1[.eTag] == tag.tag)
    }

    private static let conditions: [(String?, Form)] = [
        ("\"x\"", .plain), ("\"y\", \"x\"", .plain), ("\"x\", W/\"x\"", .plain), ("W/\"x\"", .weakened),
        ("\"y\"", .weakened), ("*", .weakened), (nil, .weakened), ("W/\"x\", \"y\"", .weakened),
    ]

    static let validations: [Case] = {
        var cases: [Case] = []
        for (condition, form) in conditions {
            for coding in ["gzip", "identity"] {
                for type in ["text/html", "", "image/png"] {
                    var request: HTTPFields = [.acceptEncoding: coding]
                    if let condition { request[.ifNoneMatch] = condition }
                    let form = type == "image/png" ? .untouched : form
                    cases.append(Case(request: request, status: 304, fields: [.contentType: type], form: form))
                }
            }
        }
        return cases
    }()

    /// Mutant: `gzip-304-keeps-a-strong-tag`.
    @Test(arguments: validations) func aStrongTagConfirmsNoCompressedContent(test: Case) throws { try check(test) }

    // MARK: Vary

    @Test(
        arguments: [
            ("", "Accept-Encoding"), ("Accept-Encoding", "Accept-Encoding"), ("accept-encoding", "accept-encoding"),
            ("Origin", "Origin, Accept-Encoding"), ("Origin, Accept-Encoding", "Origin, Accept-Encoding"), ("*", "*"),
            ("Origin, *", "Origin, *"), ("Accept-Encodings", "Accept-Encodings, Accept-Encoding"),
            ("Accept, Cookie", "Accept, Cookie, Accept-Encoding"),
        ],
        ["gzip", "identity"]
    )
    func bothFormsVary(vary: (given: String, result: String), accept: String) throws {
        for status in [200, 206, 304] {
            let request: HTTPFields = [.acceptEncoding: accept, .ifNoneMatch: "\"x\""]
            let test = Case(request: request, status: status, fields: [.vary: vary.given], length: nil)
            #expect(try judge(test).1[values: .vary].joined(separator: ", ") == vary.result, "\(status)")
        }
    }

    // MARK: Permits

    /// Beyond the limit, content is sent without a coding. One client leaves permits to others.
    @Test func sendsContentPlainWithoutAPermit() throws {
        let permits = SharedPermits()
        let limit = ResponseCompression.maximumAtOnce
        let taken = (0..<limit).compactMap { _ in permits.take(for: .none, of: limit) }
        #expect(taken.count == limit && permits.count == limit)
        let (form, fields) = try judge(Case(), permits: permits)
        #expect(form == .plain && fields[.eTag] == "\"x\"" && fields[.contentEncoding] == nil)
        // A response without content needs no permit.
        #expect(try judge(Case(method: .head), permits: permits).0 == .compressed)
    }
}
