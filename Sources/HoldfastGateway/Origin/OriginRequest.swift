import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// The address of an origin to connect to. RFC 9110 §4.3
struct OriginEndpoint: Hashable, Sendable, CustomStringConvertible {
    var isSecure: Bool
    /// The host; an IPv6 address is in brackets.
    var host: String
    var port: UInt16

    var description: String { "\(isSecure ? "https" : "http")://\(host):\(port)" }

    var connectHost: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }

    /// The name for TLS. RFC 6066 §3 allows no addresses there; then the certificate must name the
    /// address.
    var serverName: String? { (try? SocketAddress(ipAddress: connectHost, port: 0)) == nil ? host : nil }
}

/// A request as it is sent.
struct OriginRequest: Sendable {
    let endpoint: OriginEndpoint
    let method: HTTPRequest.Method
    /// The request line and the fields.
    let head: ByteBuffer
    /// The content; `nil` if there is none.
    private(set) var body: BodyStream?
    var isChunked: Bool { body.map { $0.length == nil } ?? false }
    /// Whether it may be sent again: its method is idempotent (RFC 9110 §9.2.2; QUERY by RFC
    /// 10008), and its content is in memory.
    let isRepeatable: Bool
    /// How long the origin may take to send the head; `nil`: only the transport's own limits apply.
    let headTime: TimeAmount?
    /// The start of ``headTime`` for a request without content, and of the time to connect and the
    /// measured duration for every request.
    private(set) var start: NIODeadline
    /// See `TransportRequest`.
    let mayBeRelayed: Bool
    /// See `TransportRequest`.
    let report: OriginReport?

    /// The longest content that is read into memory before it is sent, so that it can be sent
    /// again; in bytes.
    private static let repeatableLimit: Int64 = 64 << 10

    /// This is not an initialiser, because an initialiser would copy the request.
    ///
    /// - Throws: `TransportError` (`invalidRequest`).
    static func make(_ request: TransportRequest, routes: RoutesInUse.Shared?) throws -> OriginRequest {
        guard let target = request.target ?? TargetURI(request: request.head), let path = request.head.path,
            let authority = request.head.authority
        else {
            throw TransportError(
                code: .invalidRequest,
                message:
                    "A request without an http or https target cannot be sent. Give it a scheme, an authority and a path."
            )
        }
        let endpoint: OriginEndpoint
        if let routes {
            guard let chosen = routes.routes.endpoint(for: target) else {
                throw TransportError(
                    code: .invalidRequest,
                    message: "No route leads to '\(target.scheme)://\(target.authority)'; nothing was sent there."
                )
            }
            endpoint = chosen
        } else {
            endpoint = OriginEndpoint(isSecure: target.scheme == "https", host: target.host, port: target.port)
        }
        let method = request.head.method
        let length = request.body?.length
        let hasContent = request.body != nil
        let head = ByteBuffer.head { bytes in
            bytes.writeRequestLine(method, path)
            bytes.writeField("Host", authority)
            bytes.writeFields(request.head.headerFields) { name in
                switch name.utf8.count {
                case 4: name != "host"
                case 10: name != "connection"
                case 14: name != "content-length"
                case 17: name != "transfer-encoding"
                default: true
                }
            }
            if let length {
                bytes.writeField("Content-Length", String(length))
            } else if hasContent {
                bytes.writeField("Transfer-Encoding", "chunked")
            } else if method.hasContent {
                // RFC 9110 §8.6: these methods expect content, even if it is empty.
                bytes.writeField("Content-Length", "0")
            }
            bytes.writeEndOfHead()
        }
        let content = length == 0 ? nil : request.body
        return OriginRequest(
            endpoint: endpoint,
            method: method,
            head: head,
            body: content,
            isRepeatable: method.isIdempotent && (content.map { ($0.length ?? .max) <= Self.repeatableLimit } ?? true),
            headTime: request.headTimeout?.timeAmount,
            start: .now(),
            mayBeRelayed: request.mayBeRelayed && method == .get && !hasContent,
            report: request.originReport
        )
    }

    /// Reads short content into memory, so that the request can be sent again.
    ///
    /// - Throws: the errors of reading it.
    mutating func collectContent() async throws {
        guard let content = body, let length = content.length, length <= Self.repeatableLimit else { return }
        body = BodyStream(try await content.collect(upTo: Int(length)))
        // The time that the client took must not shorten the origin's.
        start = .now()
    }

    /// Notes for the log how the request has ended.
    ///
    /// - Parameters:
    ///   - status: `nil` if no head has come.
    ///   - isReused: whether the connection was kept from an earlier request.
    func note(_ status: Int?, isReused: Bool?) {
        guard let report else { return }
        let duration = Duration.nanoseconds((NIODeadline.now() - start).nanoseconds)
        report.note(OriginReport.Facts(status: status, duration: duration, isReused: isReused))
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

    /// RFC 9110 §9.2.2; QUERY by RFC 10008
    fileprivate var isIdempotent: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY": true
        default: false
        }
    }
}
