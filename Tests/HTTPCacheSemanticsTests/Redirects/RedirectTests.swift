import HTTPTypes
import Testing

@testable import HTTPCacheSemantics

/// RFC 9110 §15.4: the request that follows a redirect.
@Suite(.timeLimit(.minutes(20))) struct RedirectTests {
    private static let statuses = [301, 302, 303, 307, 308]
    private static let query = HTTPRequest.Method("QUERY") ?? .get
    private static let host = HTTPField.Name("Host") ?? .cookie
    private static let apiKey = HTTPField.Name("X-Api-Key") ?? .cookie
    private static let tenant = HTTPField.Name("X-Tenant") ?? .cookie

    private static func redirect(_ status: Int, to location: String?) -> HTTPResponse {
        var response = HTTPResponse(status: .init(code: status))
        if let location { response.headerFields[.location] = location }
        return response
    }

    private static func request(
        _ method: HTTPRequest.Method = .get,
        _ url: String = "https://a.example/x/y?q",
        _ fields: HTTPFields = [:]
    ) throws -> HTTPRequest {
        let target = try TargetURI(url)
        return HTTPRequest(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: fields
        )
    }

    private func decide(
        _ response: HTTPResponse,
        to request: HTTPRequest,
        secretFields: Set<HTTPField.Name> = [],
        mayRepeatContent: Bool = true
    ) -> RedirectChain.Decision {
        var chain = RedirectChain()
        return chain.decide(
            after: response,
            to: request,
            secretFields: secretFields,
            mayRepeatContent: mayRepeatContent
        )
    }

    private func followed(
        _ response: HTTPResponse,
        to request: HTTPRequest,
        secretFields: Set<HTTPField.Name> = []
    ) -> Redirect? {
        guard case .follow(let redirect) = decide(response, to: request, secretFields: secretFields) else { return nil }
        return redirect
    }

    /// By method: the methods after 301, 302, 303, 307 and 308.
    @Test(arguments: [
        (HTTPRequest.Method.get, [HTTPRequest.Method.get, .get, .get, .get, .get]),
        (.head, [.head, .head, .head, .head, .head]),
        (.post, [.get, .get, .get, .post, .post]),
        (.put, [.put, .put, .get, .put, .put]),
        (.delete, [.delete, .delete, .get, .delete, .delete]),
        (.patch, [.patch, .patch, .get, .patch, .patch]),
        (query, [query, query, .get, query, query]),
    ])
    func methodFollowsFromStatusAndMethod(method: HTTPRequest.Method, expected: [HTTPRequest.Method]) throws {
        let request = try Self.request(method)
        for (status, next) in zip(Self.statuses, expected) {
            let redirect = try #require(followed(Self.redirect(status, to: "/z"), to: request))
            #expect(redirect.head.method == next && redirect.keepsContent == (next == method), "\(status)")
        }
    }

    @Test(arguments: [200, 204, 300, 304, 305, 306, 309, 404])
    func otherStatusesAreDelivered(status: Int) throws {
        #expect(decide(Self.redirect(status, to: "/z"), to: try Self.request()) == .deliver)
    }

    @Test(arguments: statuses) func redirectWithoutLocationIsDelivered(status: Int) throws {
        #expect(decide(Self.redirect(status, to: nil), to: try Self.request()) == .deliver)
    }

    @Test(arguments: [
        ("/z", "https://a.example/z"), ("z", "https://a.example/x/z"), ("../z", "https://a.example/z"),
        ("./", "https://a.example/x/"), ("?r=1", "https://a.example/x/y?r=1"), ("//b.example", "https://b.example/"),
        ("https://B.example:443/%7Ez", "https://b.example/%7Ez"), ("/a b|é", "https://a.example/a%20b%7C%C3%A9"),
        ("/z#part", "https://a.example/z"), ("/%zz", "https://a.example/%25zz"),
    ])
    func locationIsResolvedAgainstTheRequest(location: String, url: String) throws {
        let redirect = try #require(followed(Self.redirect(301, to: location), to: try Self.request()))
        // The key is that of an endpoint with this URL.
        let target = try TargetURI(url)
        #expect(redirect.target == target && TargetURI(request: redirect.head) == target)
        #expect(redirect.head.path == target.requestTarget && redirect.head.authority == target.authority)
    }

    @Test(arguments: [
        "ftp://a.example/z", "file:///etc/passwd", "javascript:alert(1)", "data:,x", "https:z", "https://",
        "https://user@b.example/", "https://user:pass@a.example/z", "//user@b.example/", "https://b.example:99999/",
        "https://b.example:x/", "/%00", "/%FF",
    ])
    func invalidLocationIsNotFollowed(location: String) throws {
        #expect(decide(Self.redirect(302, to: location), to: try Self.request()) == .fail(.invalidLocation))
    }

    @Test func twoDifferentLocationsAreInvalid() throws {
        var response = Self.redirect(302, to: "/z")
        response.headerFields.append(HTTPField(name: .location, value: "/z"))
        #expect(followed(response, to: try Self.request())?.target.path == "/z")
        response.headerFields.append(HTTPField(name: .location, value: "/other"))
        #expect(decide(response, to: try Self.request()) == .fail(.invalidLocation))
    }

    @Test func encryptionIsNeverDropped() throws {
        let (plain, encrypted) = ("http://a.example/z", "https://a.example/z")
        #expect(decide(Self.redirect(301, to: plain), to: try Self.request()) == .fail(.insecure))
        let upgrade = followed(Self.redirect(301, to: encrypted), to: try Self.request(.get, "http://a.example/z"))
        #expect(upgrade?.target.uri == encrypted)
        #expect(followed(Self.redirect(301, to: plain), to: try Self.request(.get, "http://b.example/")) != nil)
    }

    private static let fields: HTTPFields = [
        .accept: "application/json", .acceptLanguage: "de", .range: "bytes=0-", .userAgent: "harbour/3",
        .authorization: "Bearer t", .cookie: "a=b", apiKey: "k", tenant: "acme",
        .proxyAuthorization: "Basic x", .referer: "https://a.example/", .origin: "https://a.example",
        host: "a.example",
    ]

    @Test(arguments: ["/z", "https://a.example:443/z"]) func sameOriginKeepsAllFieldsButHost(location: String) throws {
        let request = try Self.request(.get, "https://a.example/x", Self.fields)
        let kept = try #require(followed(Self.redirect(302, to: location), to: request)).head.headerFields
        #expect(Set(kept.map(\.name)) == Set(Self.fields.map(\.name)).subtracting([Self.host]))
    }

    @Test(arguments: ["https://b.example/z", "https://a.example:8443/z", "https://sub.a.example/z"])
    func anotherOriginGetsNoFieldThatMayBeASecret(location: String) throws {
        let request = try Self.request(.get, "https://a.example/x", Self.fields)
        let kept = try #require(followed(Self.redirect(307, to: location), to: request)).head.headerFields
        #expect(Set(kept.map(\.name)) == [.accept, .acceptLanguage, .range, .userAgent])
    }

    @Test func anotherSchemeIsAnotherOrigin() throws {
        let request = try Self.request(.get, "http://a.example/x", [.authorization: "Bearer t"])
        let next = try #require(followed(Self.redirect(301, to: "https://a.example/x"), to: request))
        #expect(next.head.headerFields.isEmpty)
    }

    @Test func namedSecretIsDroppedWhateverItsName() throws {
        let request = try Self.request(.get, "https://a.example/x", [.userAgent: "secret", .accept: "text/plain"])
        let redirect = Self.redirect(302, to: "https://b.example/")
        let next = try #require(followed(redirect, to: request, secretFields: [.userAgent]))
        #expect(next.head.headerFields == [.accept: "text/plain"])
    }

    @Test func credentialsDoNotReturn() throws {
        var chain = RedirectChain()
        var request = try Self.request(.get, "https://a.example/1", [.authorization: "Bearer t"])
        for location in ["https://b.example/2", "https://a.example/3"] {
            let response = Self.redirect(302, to: location)
            let decision = chain.decide(after: response, to: request, secretFields: [], mayRepeatContent: true)
            guard case .follow(let redirect) = decision else {
                Issue.record("\(decision)")
                return
            }
            request = redirect.head
        }
        #expect(request.authority == "a.example" && request.headerFields[.authorization] == nil)
    }

    @Test func fieldsOfTheContentGoWithIt() throws {
        let fields: HTTPFields = [
            .contentType: "application/json", .contentLength: "2", .contentEncoding: "gzip", .ifMatch: "\"a\"",
            .accept: "*/*",
        ]
        let request = try Self.request(.post, "https://a.example/x", fields)
        #expect(followed(Self.redirect(303, to: "/z"), to: request)?.head.headerFields == [.accept: "*/*"])
        #expect(followed(Self.redirect(307, to: "/z"), to: request)?.head.headerFields == fields)
    }

    @Test func contentThatIsReadOnceIsNotSentAgain() throws {
        let request = try Self.request(.put)
        #expect(decide(Self.redirect(307, to: "/z"), to: request, mayRepeatContent: false) == .fail(.contentIsGone))
        let read = decide(Self.redirect(303, to: "/z"), to: request, mayRepeatContent: false)
        guard case .follow = read else {
            Issue.record("\(read)")
            return
        }
    }

    /// Follows redirects by `next` until the chain ends.
    private func run(
        _ method: HTTPRequest.Method,
        _ next: (Int) -> HTTPResponse?
    ) throws -> (count: Int, fault: RedirectFault?) {
        var chain = RedirectChain()
        var request = try Self.request(method, "https://a.example/0")
        while let response = next(chain.count) {
            switch chain.decide(after: response, to: request, secretFields: [], mayRepeatContent: true) {
            case .deliver: return (chain.count, nil)
            case .fail(let fault): return (chain.count, fault)
            case .follow(let redirect): request = redirect.head
            }
        }
        return (chain.count, nil)
    }

    @Test func tenRedirectsAreFollowed() throws {
        let ten = try run(.get) { $0 < 10 ? Self.redirect(302, to: "/\($0 + 1)") : nil }
        #expect(ten.count == 10 && ten.fault == nil)
        let more = try run(.get) { Self.redirect(302, to: "/\($0 + 1)") }
        #expect(more.count == 10 && more.fault == .tooMany)
    }

    @Test(arguments: [1, 2, 3, 9]) func loopIsFound(length: Int) throws {
        let loop = try run(.get) { Self.redirect(301, to: "/\(($0 + 1) % length)") }
        #expect(loop.count == length - 1 && loop.fault == .loop)
    }

    @Test func formThatIsReadAfterPostIsNoLoop() throws {
        let form = try run(.post) { $0 == 0 ? Self.redirect(303, to: "/0") : nil }
        #expect(form.count == 1 && form.fault == nil)
        let loop = try run(.post) { _ in Self.redirect(303, to: "/0") }
        #expect(loop.count == 1 && loop.fault == .loop)
    }
}
