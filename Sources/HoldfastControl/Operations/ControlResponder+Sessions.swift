import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Hummingbird
import Logging

extension ControlResponder {
    /// The operations through which a page in a browser gets and ends its session.
    static let sessions: [Operation] =
        [Operation(path: "/v1/inspections", method: .post, scope: .read) { try await $0.beginInspection($1, $2) }]
        + SessionRoute.allCases.map { route in
            Operation(path: SessionRoute.path, method: route.method, scope: .read, isOpen: route.isOpen) {
                try await route.respond(to: $1, $2, by: $0.entryPoint, $0.logger)
            }
        }

    /// Handles `POST /v1/inspections`. The code has the scope of the client that requests it.
    private func beginInspection(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await Self.content(of: request)
        if !content.isEmpty { try JSONMembers(json: content, example: "{}").end(known: []) }
        // Otherwise, a session could be extended indefinitely.
        guard entryPoint.sessionEnd(presenting: request.headers[values: .authorization]) == nil else {
            throw ControlProblem(
                .scopeTooSmall,
                "A session cannot create codes for other sessions. Run 'holdfast inspect', or use a token of 'control.tokens'.",
                field: "Authorization"
            )
        }
        guard let place = page.place() else { return try Self.response(.ok, InspectionReport()) }
        let code = try page.sessions.makeCode(for: context.client)
        logger.notice("Status page code created", metadata: ["control.client": "\(context.client.name)"])
        return try Self.response(.ok, InspectionReport(place, code))
    }

}

/// The operations on a page's session. A gateway's port and a relay's port both serve them.
enum SessionRoute: CaseIterable, Sendable {
    /// Exchanges a code for a token.
    case begin
    /// Returns the client that the request's token belongs to.
    case show
    /// Ends the session of the request's token.
    case end

    static let path = "/v1/sessions"

    var method: HTTPRequest.Method {
        switch self {
        case .begin: .post
        case .show: .get
        case .end: .delete
        }
    }

    /// Whether the operation needs no token.
    var isOpen: Bool { self == .begin }

    /// Returns the operation for a request, or `nil` if it is not a session request.
    init?(_ request: Request) {
        guard request.uri.path == Self.path, let route = Self.allCases.first(where: { $0.method == request.method })
        else { return nil }
        self = route
    }

    /// Performs the operation.
    ///
    /// - Throws: ``ControlProblem``, ``TokenVerifier/Wait``
    func respond(
        to request: Request,
        _ context: ControlContext,
        by entryPoint: ControlEntryPoint,
        _ logger: Logger
    ) async throws -> Response {
        try QueryMembers.none(in: request)
        let credentials = request.headers[values: .authorization]
        switch self {
        case .begin:
            let json = try await ControlResponder.content(of: request, within: SlowClients.openContentLimit)
            let session = try entryPoint.beginSession(try SessionRequest(json: json).code)
            logger.notice("Status page opened", metadata: ["control.client": "\(session.client.name)"])
            return try ControlResponder.response(.ok, SessionReport(session))
        case .show:
            let end = entryPoint.sessionEnd(presenting: credentials)
            return try ControlResponder.response(.ok, ClientReport(context.client, until: end))
        case .end:
            return try ControlResponder.response(.ok, SessionEnd(ended: entryPoint.endSession(presenting: credentials)))
        }
    }
}

/// Access to a gateway's page: its URL, and its sessions.
struct PageAccess: Sendable {
    let sessions: PageSessions
    /// The path of the Unix socket.
    let socket: String
    /// Returns the page's URL, or `nil` if the gateway has no port.
    let place: @Sendable () -> String?

    var control: OverviewReport.Control {
        OverviewReport.Control(socket: socket, listen: place().map { String($0.dropFirst("http://".count)) })
    }
}

/// The content of `POST /v1/sessions`.
struct SessionRequest {
    let code: String

    /// Reads the content.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws(ControlProblem) {
        var members = try JSONMembers(json: json, example: #"{"code": "…"}"#)
        guard let code = try members.text("code") else {
            throw ControlProblem(
                .invalidRequest,
                "'code' is missing. 'holdfast inspect' prints it after '#code='.",
                field: "code"
            )
        }
        try members.end(known: ["code"])
        self.code = code
    }
}

/// The information that `holdfast inspect` needs to open the page.
package struct InspectionReport: Sendable, Hashable, Codable {
    /// The page's URL with a code in its fragment, which browsers never send to a server. `nil` if
    /// the gateway has no port (`control.listen`).
    package var url: String?
    /// The code: 32 hexadecimal digits, valid for one use.
    package var code: String?
    /// The time when the code expires, as RFC 3339 text.
    package var expiresAt: String?

    /// Creates the report for a gateway without a port.
    package init() {}

    init(_ place: String, _ code: PageSessions.Code) {
        url = "\(place)/#code=\(code.text)"
        self.code = code.text
        expiresAt = EndTime.text(code.expiresAt)
    }
}

/// A session, as returned to the page.
struct SessionReport: Sendable, Hashable, Codable {
    /// The token, for `Authorization: Bearer`.
    var token: String
    /// The name of the client on whose behalf the page acts.
    var client: String
    var scope: ControlScope
    var expiresAt: String

    init(_ session: PageSessions.Session) {
        token = session.token
        client = session.client.name
        scope = session.client.scope
        expiresAt = EndTime.text(session.expiresAt)
    }
}

/// The client that sent a request, as returned to that client.
struct ClientReport: Sendable, Hashable, Codable {
    var client: String
    var scope: ControlScope
    /// The time when the client's session ends; `nil` if the client has no session.
    var expiresAt: String?

    init(_ client: ControlClient, until end: Timestamp?) {
        self.client = client.name
        scope = client.scope
        expiresAt = end.map(EndTime.text)
    }
}

/// The result of ending a session.
struct SessionEnd: Sendable, Hashable, Codable {
    /// Whether there was a session.
    var ended: Bool
}
