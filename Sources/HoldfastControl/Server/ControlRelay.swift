import Foundation
package import HTTPTypes
import Hummingbird
package import Logging
package import NIOCore
import ServiceLifecycle

/// Sends requests to a control plane.
package protocol ControlForwarding: Sendable {
    /// Sends a request, and returns when the response's head has arrived.
    ///
    /// - Parameters:
    ///   - target: the path and query.
    ///   - content: JSON content; `nil` if the request has no content.
    func forward(_ method: HTTPRequest.Method, _ target: String, _ content: ByteBuffer?) async throws
        -> ForwardedResponse
}

/// A control plane's response.
package struct ForwardedResponse: Sendable {
    /// The HTTP status.
    package var status: Int
    /// The header fields.
    package var fields: HTTPFields
    /// The parts of the content, as they arrive.
    package var content: any AsyncSequence<ByteBuffer, any Error> & Sendable

    /// Creates a response.
    package init(status: Int, fields: HTTPFields, content: any AsyncSequence<ByteBuffer, any Error> & Sendable) {
        self.status = status
        self.fields = fields
        self.content = content
    }
}

/// Serves the status page of a gateway whose control plane has only a Unix socket. While it runs,
/// the relay listens on a port on this machine and forwards requests to the socket.
///
/// File permissions protect the socket, but every user of the machine can reach the port. The port
/// therefore requires a session, as a gateway's port does. The relay has its own sessions.
package struct ControlRelay: Sendable {
    private let host: String
    private let port: Int
    private let client: ControlClient
    private let forwarding: any ControlForwarding
    private let logger: Logger

    /// Creates a relay. ``run(_:)`` starts it.
    ///
    /// - Parameters:
    ///   - host: a loopback address.
    ///   - port: the port; 0 means any free port.
    ///   - client: the user's name, for the session.
    package init(
        host: String = "127.0.0.1",
        port: Int = 0,
        client: String,
        to forwarding: any ControlForwarding,
        logger: Logger
    ) {
        self.host = host
        self.port = port
        self.client = ControlClient(name: client, scope: .operate)
        self.forwarding = forwarding
        self.logger = logger
    }

    /// Relays until the task is canceled.
    ///
    /// - Parameter whenListening: called with the page's URL, which contains a code.
    /// - Throws: `InvalidSetting` if it cannot listen.
    package func run(_ whenListening: @escaping @Sendable (String) -> Void) async throws {
        let (sessions, client) = (PageSessions(), client)
        let network = ControlNetwork(host: host, port: port, tokens: TokenVerifier(ofSessions: { .now() }))
        let entryPoint = ControlEntryPoint.network(NetworkEntryPoint(network, sessions))
        let responder = RelayResponder(entryPoint: entryPoint, forwarding: forwarding, logger: logger)
        let address = BindAddress.hostname(host, port: port)
        let opening = Opening()
        let application = ControlServer.application(responder, entryPoint, on: address, logger) { channel in
            opening.succeed()
            let place = network.pageURL(port: channel.localAddress?.port ?? 0)
            // This does not fail, because it is the first code.
            guard let code = try? sessions.makeCode(for: client) else { return }
            if let url = InspectionReport(place, code).url { whenListening(url) }
        }
        let advice = "Choose another port with '--port', or omit '--port' to use any free port."
        let listener = OpenedListener(listener: application, opening: opening) {
            ControlNetwork.refusal($0, "The page", network.host, network.port, advice)
        }
        try await listener.run()
    }
}

/// Checks a request as a control plane's port does, and forwards it.
struct RelayResponder: HTTPResponder {
    let entryPoint: ControlEntryPoint
    let forwarding: any ControlForwarding
    let logger: Logger

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        try await checked(request, context).withContent(for: request.method)
    }

    private func checked(_ request: Request, _ context: ControlContext) async throws -> Response {
        do {
            return try await outcome(of: request, context)
        } catch let problem as ControlProblem {
            return ControlResponder.response(problem, problem.status == 401 ? [.wwwAuthenticate: "Bearer"] : [:])
        } catch let wait as TokenVerifier.Wait {
            return ControlResponder.response(wait.problem, [.retryAfter: "\(wait.seconds)"])
        }
    }

    private func outcome(of request: Request, _ context: ControlContext) async throws -> Response {
        var context = context
        let session = SessionRoute(request)
        let isOfPage = ControlResponder.page.contains {
            $0.covers(request.uri.path) && $0.methods.contains(request.method)
        }
        if isOfPage || session?.isOpen == true {
            try entryPoint.admitWithoutToken(request.head)
        } else {
            context.client = try await entryPoint.admit(request.head, from: context.channel)
        }
        if let session { return try await session.respond(to: request, context, by: entryPoint, logger) }
        guard ![.get, .head, .delete].contains(request.method) else { return try await forward(request, nil) }
        let content = try await ControlResponder.content(of: request, upTo: PurgeRequest.maximumBytes)
        return try await forward(request, ByteBuffer(bytes: content))
    }

    private func forward(_ request: Request, _ content: ByteBuffer?) async throws -> Response {
        let response: ForwardedResponse
        do {
            response = try await forwarding.forward(request.method, request.head.path ?? "/", content)
        } catch {
            throw ControlProblem(
                .gatewayGone,
                "The gateway does not respond: \(error). Check its log, then run 'holdfast inspect' again."
            )
        }
        var fields = HTTPFields()
        for field in response.fields where !Self.connectionFields.contains(field.name.canonicalName) {
            fields.append(field)
        }
        return Response(
            status: .init(code: response.status),
            headers: fields,
            body: Self.body(response.content, length: response.fields[.contentLength].flatMap { Int($0) })
        )
    }

    private static func body(
        _ content: some AsyncSequence<ByteBuffer, any Error> & Sendable,
        length: Int?
    ) -> ResponseBody {
        ResponseBody(contentLength: length) { writer in
            try await writer.write(content)
            try await writer.finish(nil)
        }
    }

    /// The fields that are not forwarded, because they apply to one connection or one server. RFC
    /// 9110 §7.6.1
    private static let connectionFields: Set<String> = [
        "connection", "content-length", "keep-alive", "transfer-encoding", "upgrade", "trailer", "te", "server", "date",
    ]
}
