import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// Redirects as a table: status × method × origin × credentials × state of the store.
@Suite(.timeLimit(.minutes(20))) struct RedirectTableTests {
    enum Names {
        static let apiKey = HTTPField.Name("X-Api-Key") ?? .cookie
        static let tenant = HTTPField.Name("X-Tenant") ?? .cookie
        static let device = HTTPField.Name("X-Device") ?? .cookie
    }

    /// How a request states its user.
    enum Credentials: CaseIterable {
        case none, authorization, cookie, apiKey, namedSecret, unnamedField, principal, defaultField

        /// The field that another origin must not get.
        var field: HTTPField? {
            switch self {
            case .none, .principal: nil
            case .authorization, .defaultField: HTTPField(name: .authorization, value: "Bearer secret-value")
            case .cookie: HTTPField(name: .cookie, value: "session=secret-value")
            case .apiKey: HTTPField(name: Names.apiKey, value: "secret-value")
            case .namedSecret: HTTPField(name: Names.tenant, value: "secret-value")
            case .unnamedField: HTTPField(name: Names.device, value: "secret-value")
            }
        }
    }

    /// The state of the store, or of the responses, when the call is made again.
    enum CacheState: CaseIterable {
        case nothing, redirect, target, both, staleRedirect, staleTarget

        var storesRedirect: Bool { [.redirect, .both, .staleRedirect, .staleTarget].contains(self) }
        var storesTarget: Bool { [.target, .both, .staleRedirect, .staleTarget].contains(self) }
        /// The second call's requests: whether the first target is asked, and the second one.
        var asked: (redirect: Bool, target: Bool) {
            switch self {
            case .nothing: (true, true)
            case .redirect, .staleTarget: (false, true)
            case .target, .staleRedirect: (true, false)
            case .both: (false, false)
            }
        }
    }

    struct Case: Endpoint {
        typealias Response = String
        let baseURL = "https://a.example"
        let path: String
        let method: HTTPRequest.Method
        let credentials: Credentials
        var headers: HTTPFields {
            var fields: HTTPFields = [.accept: "text/plain", .userAgent: "harbour/3"]
            if credentials != .defaultField, let field = credentials.field { fields.append(field) }
            return fields
        }
        var task: HTTPTask {
            [.post, .put].contains(method) ? .data(Data("content".utf8), contentType: "text/plain") : .plain
        }
        var principal: String? { credentials == .principal ? "ada" : nil }
        var secrets: Secrets { credentials == .namedSecret ? Secrets(fields: [Names.tenant]) : Secrets() }
        let redirects = RedirectPolicy.always
        let emptyContent = EmptyContent.json("\"\"")
    }

    private static let statuses = [301, 302, 303, 307, 308]
    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put]
    private static let cases = statuses.flatMap { status in methods.map { (status, $0) } }

    /// By the words of RFC 9110 §15.4, apart from the code that decides.
    private static func method(after status: Int, _ method: HTTPRequest.Method) -> HTTPRequest.Method {
        if status >= 307 || method == .head || method == .get { return method }
        return status == 303 || method == .post ? .get : .put
    }

    private static func fields(_ isStored: Bool, _ isStale: Bool, _ more: HTTPFields = [:]) -> HTTPFields {
        var fields = more
        fields[.cacheControl] = isStored ? "max-age=\(isStale ? 60 : 600)" : "no-store"
        return fields
    }

    @Test(arguments: cases)
    func everyHopIsARequestOfItsOwn(status: Int, method: HTTPRequest.Method) async throws {
        for credentials in Credentials.allCases {
            var defaults = RequestDefaults()
            if credentials == .defaultField, let field = credentials.field { defaults.fields.append(field) }
            try await ScriptedClient.run(.init(defaults: defaults)) { fixture in
                for host in ["https://a.example", "https://b.example"] {
                    for state in CacheState.allCases {
                        try await check(fixture, status, method, host, credentials, state)
                    }
                }
            }
        }
    }

    private func check(
        _ fixture: ScriptedClient,
        _ status: Int,
        _ method: HTTPRequest.Method,
        _ host: String,
        _ credentials: Credentials,
        _ state: CacheState
    ) async throws {
        let name = "\(host.hasSuffix("a.example") ? "same" : "other")-\(state)"
        let (from, target) = ("https://a.example/from-\(name)", "\(host)/to-\(name)")
        let comment = Comment(rawValue: "\(status) \(method) \(host) \(credentials) \(state)")
        let next = Self.method(after: status, method)
        let content = next == .head ? "" : "value"
        fixture.transport.script(
            from,
            method: method,
            repeating: .status(
                .init(code: status),
                fields: Self.fields(state.storesRedirect, state == .staleRedirect, [.location: target])
            )
        )
        fixture.transport.script(
            target,
            method: next,
            repeating: .ok(content, fields: Self.fields(state.storesTarget, state == .staleTarget))
        )
        let endpoint = Case(
            path: "/from-\(name)",
            method: method,
            credentials: credentials
        )
        let before = fixture.transport.received.count
        #expect(try await fixture.client.fetch(endpoint).value == content, comment)
        let hops = fixture.transport.received.dropFirst(before)
        #expect(hops.map(\.head.method) == [method, next], comment)
        #expect(hops.map { TargetURI(request: $0.head)?.uri } == [from, target], comment)
        try expectFields(Array(hops), host.hasSuffix("a.example"), credentials, comment)

        // Once more: the store serves the hops that it has. It has none of HEAD and of mutations.
        fixture.clock.advance(by: .seconds(100))
        let again = fixture.transport.received.count
        #expect(try await fixture.client.fetch(endpoint).value == content, comment)
        let asked = fixture.transport.received.dropFirst(again).map { TargetURI(request: $0.head)?.uri }
        let isStored = method == .get
        var expected: [String?] = []
        if !isStored || state.asked.redirect { expected.append(from) }
        if !isStored || state.asked.target { expected.append(target) }
        #expect(asked == expected, comment)

        // Without a network: both hops must be stored.
        fixture.client.mode = .offline
        defer { fixture.client.mode = .automatic }
        if isStored, state.storesRedirect, state.storesTarget {
            #expect(try await fixture.client.fetch(endpoint).value == content, comment)
        } else {
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(endpoint) }
        }
    }

    private func expectFields(
        _ hops: [ReceivedRequest],
        _ isSameOrigin: Bool,
        _ credentials: Credentials,
        _ comment: Comment
    ) throws {
        let (first, second) = (try #require(hops.first), try #require(hops.last))
        #expect(second.head.headerFields[.accept] == "text/plain", comment)
        #expect(second.head.headerFields[.userAgent] == "harbour/3", comment)
        #expect(second.head.headerFields[.referer] == nil, comment)
        // The method is kept together with the content.
        let keepsContent = first.head.method == second.head.method
        #expect(second.content == (keepsContent ? first.content : nil), comment)
        #expect(
            second.head.headerFields[.contentType] == (keepsContent ? first.head.headerFields[.contentType] : nil),
            comment
        )
        guard let field = credentials.field else { return }
        #expect(first.head.headerFields[field.name] == field.value, comment)
        #expect(second.head.headerFields[field.name] == (isSameOrigin ? field.value : nil), comment)
        let showsSecret = second.head.headerFields.contains { $0.value.contains("secret-value") }
        #expect(isSameOrigin || !showsSecret, comment)
    }
}
