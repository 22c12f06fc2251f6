import HTTPCache
import HTTPCacheSemantics
import Hummingbird
import Logging

extension ControlResponder {
    /// The operations by which a page in a browser gets a token.
    static let sessions: [Operation] = [
        Operation(path: "/v1/inspections", method: .post, scope: .read) { try await $0.beginInspection($1, $2) },
        Operation(path: "/v1/sessions", method: .post, scope: .read, isOpen: true) {
            try await $0.beginSession($1, $2)
        },
        Operation(path: "/v1/sessions", method: .get, scope: .read) { responder, request, context in
            try QueryMembers.none(in: request)
            let end = responder.door.sessionEnd(presenting: request.headers[values: .authorization])
            return try Self.response(.ok, ClientReport(context.client, until: end))
        },
        Operation(path: "/v1/sessions", method: .delete, scope: .read) { try $0.endSession($1, $2) },
    ]

    /// `POST /v1/inspections`: the code has the scope of the client that asks for it.
    private func beginInspection(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await content(of: request)
        if !content.isEmpty { try JSONMembers(json: content, example: "{}").end(known: []) }
        guard let place = page.place() else { return try Self.response(.ok, InspectionReport()) }
        let code = page.sessions.makeCode(for: context.client)
        logger.notice("Code for the page made", metadata: ["control.client": "\(context.client.name)"])
        return try Self.response(.ok, InspectionReport(place, code))
    }

    /// `POST /v1/sessions`
    private func beginSession(_ request: Request, _ context: ControlContext) async throws -> Response {
        let json = try await content(of: request)
        let session = try door.beginSession(try SessionRequest(json: json).code, on: context.channel)
        logger.notice("Page opened", metadata: ["control.client": "\(session.client.name)"])
        return try Self.response(.ok, SessionReport(session))
    }

    /// `DELETE /v1/sessions`: ends the session whose token the request has.
    private func endSession(_ request: Request, _: ControlContext) throws -> Response {
        try QueryMembers.none(in: request)
        let ended = door.endSession(presenting: request.headers[values: .authorization])
        return try Self.response(.ok, SessionEnd(ended: ended))
    }
}

/// The page of a gateway: where a browser finds it, and its sessions.
struct PageDesk: Sendable {
    let sessions: SessionDesk
    /// The path of the Unix socket.
    let socket: String
    /// The URL of the port on which it is; `nil` if the gateway has none.
    let place: @Sendable () -> String?

    var control: OverviewReport.Control {
        OverviewReport.Control(socket: socket, listen: place().map { String($0.dropFirst("http://".count)) })
    }
}

/// The content of `POST /v1/sessions`.
struct SessionRequest {
    let code: String

    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws(ControlProblem) {
        var members = try JSONMembers(json: json, example: #"{"code": "…"}"#)
        guard let code = try members.text("code") else {
            throw ControlProblem(
                .invalidRequest,
                "'code' is missing. 'holdfast inspect' prints it behind '#code='.",
                field: "code"
            )
        }
        try members.end(known: ["code"])
        self.code = code
    }
}

/// The way to the page, as `holdfast inspect` gets it.
public struct InspectionReport: Sendable, Hashable, Codable {
    /// The page with a code in its fragment, which no server sees; `nil` if the gateway has no port
    /// ('control.listen').
    public var url: String?
    /// The code: 32 hexadecimal digits, which work once.
    public var code: String?
    /// When the code is worth nothing.
    public var expiresAt: String?

    /// The report of a gateway without a port.
    public init() {}

    init(_ place: String, _ code: SessionDesk.Code) {
        url = "\(place)/#code=\(code.text)"
        self.code = code.text
        expiresAt = EndTime.text(code.expiresAt)
    }
}

/// A session, as the page gets it.
struct SessionReport: Sendable, Hashable, Codable {
    /// For `Authorization: Bearer`.
    var token: String
    /// The client in whose name the page acts.
    var client: String
    var scope: ControlScope
    var expiresAt: String

    init(_ session: SessionDesk.Session) {
        token = session.token
        client = session.client.name
        scope = session.client.scope
        expiresAt = EndTime.text(session.expiresAt)
    }
}

/// The client behind a request, as it gets it.
struct ClientReport: Sendable, Hashable, Codable {
    var client: String
    var scope: ControlScope
    /// The end of its session; `nil` if it has none.
    var expiresAt: String?

    init(_ client: ControlClient, until end: Timestamp?) {
        self.client = client.name
        scope = client.scope
        expiresAt = end.map(EndTime.text)
    }
}

/// The result of ending a session.
struct SessionEnd: Sendable, Hashable, Codable {
    /// Whether there was one.
    var ended: Bool
}
