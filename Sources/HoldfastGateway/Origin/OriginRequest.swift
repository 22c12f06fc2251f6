import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Where a connection goes. RFC 9110 §4.3
struct OriginEndpoint: Hashable, Sendable, CustomStringConvertible {
    var isSecure: Bool
    /// An IPv6 address in brackets.
    var host: String
    var port: UInt16

    var description: String { "\(isSecure ? "https" : "http")://\(host):\(port)" }

    var connectHost: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }

    /// The name for TLS (RFC 6066 §3 knows no addresses there); for an address, the certificate
    /// must name that.
    var serverName: String? { (try? SocketAddress(ipAddress: connectHost, port: 0)) == nil ? host : nil }
}

/// A request as it goes to the wire.
struct OriginRequest: Sendable {
    let endpoint: OriginEndpoint
    let method: HTTPRequest.Method
    /// Request line and fields.
    let head: ByteBuffer
    /// What follows the head; `nil` where nothing does.
    private(set) var body: BodyStream?
    let isChunked: Bool
    /// Whether it may be sent again: idempotent (RFC 9110 §9.2.2; QUERY by RFC 10008), and its
    /// content is in memory.
    let isRepeatable: Bool
    /// How long the head of a response may take; `nil`: the transport's own limits count alone.
    let headTime: TimeAmount?
    /// When ``headTime`` begins for a request without content, and for every request the time for a
    /// connection.
    private(set) var start: NIODeadline
    /// See `TransportRequest`.
    let mayBeRelayed: Bool

    /// Bytes up to which content is read into memory before it is sent, so that it can be sent
    /// again.
    private static let repeatableLimit: Int64 = 64 << 10

    /// No initialiser, which would take a copy of the request.
    ///
    /// - Throws: ``TransportError`` (`invalidRequest`).
    static func of(_ request: TransportRequest, routes: RoutesInUse.Shared?) throws -> OriginRequest {
        guard let target = request.target ?? TargetURI(request: request.head), let path = request.head.path,
            let authority = request.head.authority
        else {
            throw TransportError(
                code: .invalidRequest,
                message:
                    "A request for no http or https target cannot be sent. Give it a scheme, an authority and a path."
            )
        }
        let endpoint: OriginEndpoint
        if let routes {
            guard let chosen = routes.endpoint(for: target) else {
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
                // RFC 9110 §8.6: these mean to have content, if only of no bytes.
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
            isChunked: content != nil && content?.length == nil,
            isRepeatable: method.isIdempotent && (content.map { ($0.length ?? .max) <= Self.repeatableLimit } ?? true),
            headTime: request.headTimeout?.timeAmount,
            start: .now(),
            mayBeRelayed: request.mayBeRelayed && method == .get && !hasContent
        )
    }

    /// Reads content that is short into memory, so that it is still there where the request has to
    /// be sent again.
    ///
    /// - Throws: what reading it throws.
    mutating func collectContent() async throws {
        guard let content = body, let length = content.length, length <= Self.repeatableLimit else { return }
        body = BodyStream(try await content.collect(upTo: Int(length)))
        // The time that the client took is not the origin's.
        start = .now()
    }

    /// By when a connection must be there.
    var connectEnd: NIODeadline? { headTime.map { start + $0 } }
}

extension HTTPRequest.Method {
    /// It means to have content. RFC 9110 §8.6
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
