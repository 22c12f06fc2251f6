import EventLoops
import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// A request in the form in which it is sent.
struct OriginRequest: Sendable {
    let endpoint: OriginEndpoint
    /// The server, if it has its own settings; otherwise `nil`.
    let server: OriginServer?
    /// The time limits on the server's connections; `nil` for the limits of all origins.
    let times: OriginTimes?
    let method: HTTPRequest.Method
    /// The request line and the fields.
    let head: ByteBuffer
    /// The content; `nil` if there is none.
    private(set) var body: BodyStream?
    var isChunked: Bool { body.map { $0.length == nil } ?? false }
    /// Whether the request may be retried: it is idempotent (RFC 9110 §9.2.2), and its content is
    /// in memory.
    let isRepeatable: Bool
    /// The time that the origin gets to send the head; `nil` if only the transport's own limits
    /// apply.
    let headTime: TimeAmount?
    /// The time when the connect timeout and the measured duration start. For a request without
    /// content, ``headTime`` also starts then.
    private(set) var start: NIODeadline
    /// See `TransportRequest`.
    let mayBeRelayed: Bool
    /// See `TransportRequest`.
    let report: OriginReport?
    /// The time when the first attempt started, if other servers were tried before.
    private let since: NIODeadline?
    /// Whether this is a health check. A health check does not count as a request to the origin,
    /// and is the last request on its connection.
    let isCheck: Bool
    /// The offer to switch to another protocol, on a separate connection.
    let upgrade: UpgradeOffer?

    /// The maximum length of content to read into memory before sending, so that the request can be
    /// retried; in bytes.
    private static let repeatableLimit: Int64 = 64 << 10

    /// Returns the endpoint of a request's origin.
    ///
    /// - Throws: `TransportError` (`invalidRequest`).
    static func endpoint(of request: TransportRequest, routes: RoutesInUse.Shared?) throws -> OriginEndpoint {
        guard let target = request.target ?? TargetURI(request: request.head), request.head.path != nil,
            request.head.authority != nil
        else { throw missingTarget }
        guard let routes else {
            return OriginEndpoint(isSecure: target.scheme == "https", host: target.host, port: target.port)
        }
        guard let endpoint = routes.routes.endpoint(for: target) else {
            throw TransportError(
                code: .invalidRequest,
                message: "No route leads to '\(target.scheme)://\(target.authority)'; nothing was sent there."
            )
        }
        return endpoint
    }

    private static var missingTarget: TransportError {
        TransportError(
            code: .invalidRequest,
            message:
                "A request without an http or https target cannot be sent. Give it a scheme, an authority and a path."
        )
    }

    /// Creates a request. This is a function because an initializer would copy the request.
    ///
    /// - Parameters:
    ///   - server: a server of that origin; `nil` if it has no settings.
    ///   - times: the time limits, if there is no server.
    ///   - since: see ``since``.
    ///   - isCheck: see ``isCheck``.
    /// - Throws: `TransportError` (`invalidRequest`).
    static func make(
        _ request: TransportRequest,
        to endpoint: OriginEndpoint,
        _ server: OriginServer? = nil,
        times: OriginTimes? = nil,
        since: NIODeadline? = nil,
        isCheck: Bool = false
    ) throws -> OriginRequest {
        guard let path = request.head.path, let target = request.target ?? TargetURI(request: request.head) else {
            throw missingTarget
        }
        // From the target, which is in the key. The head may spell it differently.
        let authority = server?.authority ?? target.authority
        let method = request.head.method
        let length = request.body?.length
        let hasContent = request.body != nil
        let head = ByteBuffer.head { bytes in
            bytes.writeRequestLine(method, server?.path(for: path) ?? path)
            bytes.writeField("Host", authority)
            bytes.writeFields(request.head.headerFields) { name in
                switch name.utf8.count {
                case 4: name != "host"
                case 7: request.upgrade == nil || name != "upgrade"
                case 10: name != "connection"
                case 14: name != "content-length"
                case 17: name != "transfer-encoding"
                default: true
                }
            }
            if let length {
                bytes.writeField("Content-Length", length.description)
            } else if hasContent {
                bytes.writeField("Transfer-Encoding", "chunked")
            } else if method.hasContent {
                // RFC 9110 §8.6: these methods expect content, even if it is empty.
                bytes.writeField("Content-Length", "0")
            }
            if isCheck { bytes.writeField("Connection", "close") }
            if let upgrade = request.upgrade {
                bytes.writeField("Connection", "upgrade")
                bytes.writeField("Upgrade", upgrade.protocolName)
            }
            bytes.writeEndOfHead()
        }
        let content = length == 0 ? nil : request.body
        return OriginRequest(
            endpoint: server?.endpoint ?? endpoint,
            server: server,
            times: server?.times ?? times,
            method: method,
            head: head,
            body: content,
            isRepeatable: request.isIdempotent
                && (content.map { $0.length?.isWithin(Self.repeatableLimit) ?? false } ?? true),
            headTime: request.headTimeout?.timeAmount,
            start: .now(),
            mayBeRelayed: request.mayBeRelayed && method == .get && !hasContent,
            report: request.originReport,
            since: since,
            isCheck: isCheck,
            upgrade: request.upgrade
        )
    }

    /// Reads short content into memory, so that the request can be retried.
    ///
    /// - Throws: errors of reading the content.
    mutating func collectContent() async throws {
        guard let content = body, content.length?.isWithin(Self.repeatableLimit) == true else { return }
        body = BodyStream(try await content.collect(upTo: Int(Self.repeatableLimit)))
        // The time that the client took must not shorten the origin's time.
        start = .now()
    }

    /// Records for the log how the request ended.
    ///
    /// - Parameters:
    ///   - status: `nil` if no head arrived.
    ///   - isReused: whether the connection was reused.
    func note(_ status: Int?, isReused: Bool?) {
        guard let report else { return }
        let duration = Duration.nanoseconds((NIODeadline.now() - (since ?? start)).nanoseconds)
        report.note(OriginReport.Facts(status: status, duration: duration, isReused: isReused, server: server?.name))
    }

    /// The limit of ``headTime``; `nil` if there is none.
    var headLimit: OriginTimeLimit? {
        guard let headTime else { return nil }
        // Several servers share the time.
        let setting = since == nil ? OriginTimeLimit.Source.setting : OriginTimeLimit.Source.share
        return OriginTimeLimit(time: headTime, source: isCheck ? .gateway : setting("timeouts.hard"))
    }

    /// The time by which the connection must be open.
    var connectEnd: NIODeadline? { headTime.map { start + $0 } }
}

extension HTTPRequest.Method {
    /// Whether the method expects content. RFC 9110 §8.6
    fileprivate var hasContent: Bool {
        switch rawValue {
        case "POST", "PUT", "PATCH": true
        default: false
        }
    }
}
