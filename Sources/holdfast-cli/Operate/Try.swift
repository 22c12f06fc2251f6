import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import HoldfastControl

/// `holdfast try URL`
struct Try: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Fetches a URL twice through a running gateway, and shows what happened and why.",
        discussion: """
            Use a URL that clients request: its host and path select the route. The requests go to the address on which the gateway listens, no matter what the URL's host \
            resolves to; the gateway treats them like any client's. With an https URL, they go to a listener with TLS if there is one; its certificate is not verified. Use '--header' to send fields, such as a user's cookies. The first line says whether the second request was served from the store, or why the gateway rejected the \
            request: no route, for example. It also says if the response redirects to the requested URL itself, or if no client can use https. 'why' gives the gateway's reason not to store the response (as 'cache.not_stored' in its log), or why a stored one is validated. 'origin' says why requests to an origin fail. \
            'next' says how another request would be served, or which setting makes the gateway answer it itself.

            \(GatewayLocation.help)

            JSON: one object, with the keys verdict, isServedFromStore, requests (status, bytes, milliseconds, ending, cacheStatus, problem), why, origins, routes, next, setting and notes.

            The exit status is 0 if the second request was served from the store; 1 if not, if the response redirects to the requested URL itself, or if no gateway can be reached; 64 if the command line is invalid.

            Examples:
              holdfast try http://a.example/feed --config holdfast.yaml
              holdfast try http://a.example/ --config holdfast.yaml --header 'Cookie: lang=de'
              holdfast try http://127.0.0.1:8080/feed --socket /run/holdfast/control.sock --format json | jq -r .why
            """
    )

    @Argument(help: "Absolute http or https URL, as clients request it.")
    var url: String

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("Request field. Repeatable, up to 32 times.", valueName: "name: value")
    )
    var headers: [String] = []

    @OptionGroup var location: GatewayLocation

    func validate() throws {
        _ = try target()
        _ = try fields()
    }

    func run() async throws {
        let gateway = try location.gateway()
        let status: StatusReport = try await gateway.get("/v1/status")
        let target = try target()
        guard let address = TriedAddress(status, for: target) else {
            throw CommandFailure("The gateway is not listening for clients yet. Try again in a moment.")
        }
        let value = Self.encoded(url)
        let fields = try fields()
        // Records the reason even if other clients' responses are not stored either.
        let _: NotStored = try await gateway.get("/v1/not-stored?url=\(value)")
        let tried = try await send(fields, to: target, at: address)
        let asked = fields.map { "&field=" + Self.encoded("\($0.name): \($0.value)") }.joined()
        let client = Self.encoded(try address.client)
        let explained: Explained = try await gateway.get("/v1/explain?url=\(value)&client=\(client)\(asked)")
        let notStored: NotStored = try await gateway.get("/v1/not-stored")
        let origins: OriginsReport = try await gateway.get("/v1/origins")
        let configuration: Configured = try await gateway.get("/v1/configuration")
        var report = TryReport(tried, explained, why: notStored.words(for: target, fields), origins, configuration)
        report.judgeRedirect(of: target, by: try? TargetURI(explained.explanation.request.target))
        switch (target.scheme, address.hasTLS) {
        case ("https", false):
            if !configuration.trustsProxies, report.isTested {
                report.verdict =
                    "No client can use https here: no listener has TLS, and 'clients.trusted' names no proxy that has. Over http: \(report.verdict)"
            }
            report.notes.append(
                "sent without TLS, to '\(address)', with 'X-Forwarded-Proto: https', which counts only from 'clients.trusted'"
            )
        case ("http", true):
            report.notes.append("sent with TLS, to '\(address)', because no listener is without TLS")
        default: break
        }
        let after: StatusReport = try await gateway.get("/v1/status")
        switch after.storeCondition {
        case StoreCondition.full.word:
            report.notes.append("the disk of the store is full, so new responses are not stored; free some space")
        case StoreCondition.fullOfPins.word:
            report.notes.append(
                "pinned responses fill the store, so new responses are not stored; raise 'store.budget', or unpin some"
            )
        default: break
        }
        if report.requests.last?.problem?.code == "unknown-host" {
            report.notes.append(
                "no route has the host '\(target.authority)': add a route with 'host: \(target.host)', leave 'host' out of a route, or use a URL with a host that a route has"
            )
        }
        if Self.isLoopback(target), !address.description.hasSuffix(":\(target.port)") {
            report.notes.append("sent to '\(address)', not to port \(target.port), which the URL names")
        }
        try location.write(report, \.text)
        if !report.isServedFromStore || report.isEndless { throw ExitCode.failure }
    }

    /// The requests, or the reason why none could be sent as a client would.
    struct Tried {
        var requests: [TriedRequest] = []
        /// Whether the requests have a 'Cookie', and no other field that can require validation.
        var hasCookie = false
        var failure: String?
        /// Whether an https client was tested without TLS.
        var isWithoutTLS = false
    }

    private func send(_ fields: HTTPFields, to target: TargetURI, at address: TriedAddress) async throws -> Tried {
        var fields = fields
        let isWithoutTLS = target.scheme == "https" && !address.hasTLS
        // As a proxy in front of the gateway would.
        if isWithoutTLS, !fields.contains(.clientScheme) {
            fields.append(HTTPField(name: .clientScheme, value: "https"))
        }
        do {
            let requests = try await TriedRequest.send(2, to: target, fields, at: address)
            let hasCookie = fields.contains(.cookie) && !fields.contains(.cacheControl)
            return Tried(requests: requests, hasCookie: hasCookie, isWithoutTLS: isWithoutTLS)
        } catch let error as CommandFailure where address.hasTLS {
            // The listener may want a client certificate, for example.
            return Tried(failure: "\(error)")
        }
    }

    /// Whether the URL's host is this machine, so that its port should be one of the gateway's.
    private static func isLoopback(_ target: TargetURI) -> Bool {
        target.host == "localhost" || target.host.hasPrefix("127.") || target.host == "[::1]"
    }

    private func target() throws -> TargetURI {
        do {
            return try TargetURI(url)
        } catch {
            guard !url.contains("://") else { throw ValidationError("\(error)") }
            let whole = url.hasPrefix("/") ? "http://localhost:8080\(url)" : "http://\(url)"
            throw ValidationError(
                "'\(Redaction.uriText(url))' is not an absolute URL. Write a URL that clients request, such as '\(Redaction.uriText(whole))'."
            )
        }
    }

    /// The maximum number of fields, which is that of `GET /v1/explain`.
    private static let fieldLimit = 32
    /// The fields that describe the connection or the message, and the host, which the URL names.
    private static let ownFields: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    private func fields() throws -> HTTPFields {
        let fields = try HTTPFields(lines: headers)
        guard fields.count <= Self.fieldLimit else {
            throw ValidationError("There are \(fields.count) '--header'. The limit is \(Self.fieldLimit).")
        }
        if let field = fields.first(where: { Self.ownFields.contains($0.name.canonicalName) }) {
            let advice = field.name.canonicalName == "host" ? "The URL names the host." : "The command sets it itself."
            throw ValidationError("'--header \(field.name)' cannot be used. \(advice)")
        }
        return fields
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    /// The part of `GET /v1/explain` that is shown.
    struct Explained: Decodable {
        struct Answer: Decodable { var summary, setting: String }
        struct Explanation: Decodable {
            var request: Request
            var now: Verdict
        }
        struct Request: Decodable { var target: String }
        struct Verdict: Decodable { var summary: String }

        var notes: [String]
        /// The response that the gateway makes without the cache.
        var answer: Answer?
        var explanation: Explanation
    }

    /// The part of `GET /v1/configuration` that is shown.
    struct Configured: Decodable {
        struct Route: Decodable { var conditions: [Setting] }
        struct Setting: Decodable {
            var name: String
            var value: String?
        }

        var settings: [Setting]
        var routes: [Route]

        /// Whether a proxy may state that its client uses https.
        var trustsProxies: Bool { settings.contains { $0.name == "clients.trusted" && $0.value != nil } }

        /// The hosts and paths of the first routes: `a.example/v1`.
        var places: [String] {
            routes.prefix(20).map { route in
                func value(_ name: String) -> String? { route.conditions.first { $0.name == name }?.value }
                return (value("host") ?? "any host, ") + (value("path") ?? "/")
            }
        }
    }

    /// The part of `GET /v1/not-stored` that is shown.
    struct NotStored: Decodable {
        struct Reason: Decodable {
            var reason, words: String
            var examples: [Example]

            /// The words for a request with the given fields.
            func explanation(of fields: HTTPFields) -> String {
                guard reason == "authorization", fields.contains(.authorization), !fields.contains(.cookie) else {
                    return words
                }
                return
                    "The request has 'Authorization', and the response does not allow sharing, for example with 'public'. To store it per user, set 'store: {per: {field: Authorization}}' in a rule."
            }
        }
        struct Example: Decodable { var url, at: String }

        var reasons: [Reason]

        /// The latest reason for a target and the fields of its request.
        func words(for target: TargetURI, _ fields: HTTPFields) -> String? {
            // The gateway writes URLs without a scheme and without secrets.
            let url = Redaction.uriText("//\(target.authority)\(target.requestTarget)")
            return reasons.flatMap { reason in
                reason.examples.filter { "//" + $0.url == url }
                    .map { (EndTime.instant($0.at), reason.explanation(of: fields)) }
            }.max { ($0.0 ?? .distantPast) < ($1.0 ?? .distantPast) }?.1
        }
    }
}

/// The results of two requests.
struct TryReport: Encodable {
    /// The result in one sentence.
    var verdict: String
    var isServedFromStore: Bool
    var requests: [TriedRequest]
    /// The gateway's reason for not storing the response; `nil` if it is stored, or the reason is
    /// unknown.
    var why: String?
    /// Why the route's origin is unreachable, if the gateway has no response for that reason.
    var origins: [String]?
    /// The hosts and paths of the routes, if none matches.
    var routes: [String]?
    /// How another request would be served; `nil` if no route matches.
    var next: String?
    /// The setting by which the gateway itself would answer, such as `clients.deny`; `nil` if it
    /// would not.
    var setting: String?
    /// Notes about how the routes led to the origin's URL.
    var notes: [String]
    /// Whether a request was sent as a client would.
    private(set) var isTested = true
    /// Whether clients that follow the response's redirect request the same URL again.
    private(set) var isEndless = false

    private enum CodingKeys: CodingKey {
        case verdict, isServedFromStore, requests, why, origins, routes, next, setting, notes
    }

    init(
        _ tried: Try.Tried,
        _ explained: Try.Explained,
        why reason: String?,
        _ origins: OriginsReport,
        _ configuration: Try.Configured
    ) {
        let requests = tried.requests
        self.requests = requests
        next = explained.answer?.summary ?? explained.explanation.now.summary
        setting = explained.answer?.setting
        notes = explained.notes
        if let failure = tried.failure {
            isServedFromStore = false
            isTested = false
            verdict = "Not tested: \(failure)"
            return
        }
        if tried.isWithoutTLS, requests.last?.isFixed == true, explained.answer == nil {
            isServedFromStore = false
            isTested = false
            verdict = "Not tested: no listener has TLS, and the gateway took the request for one of an http client."
            return
        }
        if let problem = requests.last?.problem {
            isServedFromStore = false
            let hasNoRoute = problem.code == "no-route" || problem.code == "unknown-host"
            verdict =
                hasNoRoute
                ? "No route: \(problem.detail)"
                : "\(explained.answer == nil ? "Failed" : "Rejected") (\(problem.code)): \(problem.detail)"
            if hasNoRoute {
                (next, setting, notes, routes) = (nil, nil, [], configuration.places)
                return
            }
            // Such a problem has nothing to do with an origin.
            if explained.answer != nil || requests.last?.isKeptFromOrigin == true { return }
            self.origins = Self.causes(of: explained.explanation.request.target, origins)
            return
        }
        if explained.answer != nil {
            isServedFromStore = false
            verdict = "Not stored: the gateway itself responded."
            return
        }
        let hits = requests.map(\.isHit)
        isServedFromStore = hits.last == true
        switch (hits.first, hits.last) {
        case (true, true): verdict = "Both requests were served from the store."
        case (_, true): verdict = "Stored: the second request was served from the store."
        case _ where requests.last?.isConfirmed == true:
            let isForCookie = tried.hasCookie && requests.last?.isForwardedForItsFields == true
            verdict = "Stored, but validated\(isForCookie ? " because of the 'Cookie' field" : " with the origin")."
            guard isForCookie else { return }
            why =
                "The stored response is not marked as shareable, and the request has a 'Cookie'. The rule setting 'cookies.keep' removes all cookies but those that matter."
        default:
            let isStored = requests.last?.isStored == true
            verdict = isStored ? "Stored, but not served from the store." : "Not stored."
            why = isStored ? requests.last?.oldDate : reason
            if let request = requests.last, let ending = request.ending {
                verdict = "Not stored: the response \(ending)."
                why = nil
                self.origins = Self.causes(of: explained.explanation.request.target, origins)
            } else if let request = requests.last, request.status >= 500 {
                verdict = "The origin responds \(request.status). \(verdict)"
            }
        }
    }

    /// Says if clients cannot follow the response's redirect: it leads to the requested URL again,
    /// or past the gateway.
    ///
    /// - Parameter forwarded: the URL at the origin.
    mutating func judgeRedirect(of target: TargetURI, by forwarded: TargetURI?) {
        guard setting == nil, let forwarded, let request = requests.last, let redirect = request.redirect else {
            return
        }
        let changesScheme = target.scheme != forwarded.scheme
        let advice =
            changesScheme
            ? "the client uses \(target.scheme), and the origin \(forwarded.scheme): let the origin read 'X-Forwarded-Proto', which no rule with 'to-origin' may remove, or use an \(target.scheme):// origin"
            : "correct the origin's redirect"
        // A redirect that sets a cookie may end at the next request.
        if redirect == target, !request.setsCookies {
            isEndless = true
            verdict = "Endless redirect: the response redirects to the requested URL itself. \(verdict)"
            notes.append("\(advice); then purge the URL")
        } else if redirect.host == forwarded.host, redirect.scheme != forwarded.scheme,
            forwarded.authority != target.authority, redirect.authority != target.authority
        {
            // The gateway rewrites only URLs that begin with the origin's.
            notes.append(
                "the response redirects clients past the gateway, to '\(redirect.redacted)': \(advice); then purge the URL"
            )
        }
    }

    /// Why the origin of a target fails, or if it is unknown, why origins fail.
    private static func causes(of target: String, _ report: OriginsReport) -> [String]? {
        let own = report.origins.filter { target == $0.origin || target.hasPrefix($0.origin + "/") }
        let causes = (own.isEmpty ? report.origins : own).compactMap { origin -> String? in
            if let message = origin.message { return "\(origin.origin): \(origin.reason ?? ""): \(message)" }
            guard !own.isEmpty, let last = origin.lastFailure else { return nil }
            return "\(origin.origin): last failure at \(last.at): \(last.reason): \(last.message)"
        }
        return causes.isEmpty ? nil : causes
    }

    /// The report as human-readable lines.
    var text: String {
        var lines = [verdict]
        for (number, request) in requests.enumerated() {
            let size = "\(request.bytes) bytes in \(request.milliseconds) ms"
            lines.append("  \(number + 1)      \(request.status)  \(size)  \(request.cacheStatus ?? "no Cache-Status")")
        }
        if let why { lines.append("  why    \(why)") }
        lines += (origins ?? []).map { "  origin \($0)" }
        lines += (routes ?? []).map { "  route  \($0)" }
        if let next { lines.append("  next   \(next)") }
        lines += notes.map { "  note   \($0)" }
        return lines.joined(separator: "\n")
    }
}
