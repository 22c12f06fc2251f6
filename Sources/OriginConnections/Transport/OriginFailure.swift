import GatewayRouting
import HTTPCache
import HTTPWire
import LibC
import NIOCore
import NIOPosix
import NIOSSL

/// A failure on a connection, and whether the origin may have received the request.
struct OriginFailure: Error {
    var error: TransportError
    /// Whether no byte of a response had arrived.
    var isBeforeResponse: Bool
    /// Whether no byte of the request was sent. If so, the request may be sent on another
    /// connection.
    var isUnsent = false
}

extension TransportError {
    /// The error for a connection that closed before its response was complete.
    init(closing endpoint: OriginEndpoint, _ cause: (any Error)?, isBeforeResponse: Bool) {
        if isBeforeResponse, let cause, Self.isTLS(cause) {
            // With TLS 1.3, a server rejects a client's certificate after the handshake.
            self.init(code: .tls, ConnectionFailure(cause), endpoint, cause)
        } else if isBeforeResponse, let cause = cause as? IOError, cause.errnoCode == ECONNRESET {
            self.init(code: .connectionClosed, .reset, endpoint, cause)
        } else {
            // A server that uses TLS usually closes without a word.
            let hint = isBeforeResponse && !endpoint.isSecure ? " If it uses TLS, use an 'https://' URL." : ""
            let message = "'\(endpoint)' closed the connection before its response was complete. See its log.\(hint)"
            self.init(code: .connectionClosed, message: message, cause: cause)
        }
    }

    /// The error for a TLS record in place of a response. The request was sent, so its target may
    /// be the cause, as for a connection that closes.
    init(speakingTLS endpoint: OriginEndpoint) {
        let cause = ReceivedTLS()
        self.init(code: .connectionClosed, ConnectionFailure(cause), endpoint, cause)
    }

    /// The error for a malformed response.
    init(rejecting refusal: MessageRefusal, _ endpoint: OriginEndpoint) {
        let message =
            "The response from '\(endpoint)' was rejected: \(refusal.faultOfResponse). \(refusal.adviceOnResponse)"
        self.init(code: .protocolViolation, message: message, cause: refusal)
    }

    /// The error for a time limit that was exceeded.
    ///
    /// - Parameter limit: the limit that was exceeded.
    init(waitingFor running: OriginWait.Running, _ limit: OriginTimeLimit, _ endpoint: OriginEndpoint) {
        let fault =
            switch running {
            case .taking: "read no more of the request's content"
            case .head: "sent no response"
            case .content: "sent no more of its response"
            }
        self.init(code: .timeout, message: "'\(endpoint)' \(fault) within \(limit.words). \(limit.advice)")
    }

    /// The error for a connection that could not be opened.
    ///
    /// - Parameter isNamedByCommand: whether the command of a job named the origin.
    init(connecting endpoint: OriginEndpoint, _ error: any Error, isNamedByCommand: Bool) {
        switch error {
        case _ where Self.isDescriptorShortage(error):
            let message =
                "No file descriptor is left for a connection to '\(endpoint)'. Raise the limit of open files "
                + "(ulimit -n, LimitNOFILE), or lower 'limits.connections'."
            self.init(code: .outOfDescriptors, message: message, cause: error)
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            let message =
                "The name in '\(endpoint)' does not resolve. Check the URL and this machine's DNS"
                + (isNamedByCommand ? "." : ", or set 'addresses'.")
            self.init(code: .nameResolution, message: message, cause: error)
        case _ where ForbiddenDestination(error) != nil:
            let message = ForbiddenDestination(error)?.message("\(endpoint)", isNamedByCommand: isNamedByCommand) ?? ""
            self.init(code: .connect, message: message, cause: error)
            connectionFailure = .blocked
        default:
            let failure = ConnectionFailure(error)
            let isTimeout = failure == .connectTimeout || failure == .handshakeTimeout
            let code = isTimeout ? Code.connectTimeout : Self.isTLS(error) ? .tls : .connect
            self.init(code: code, failure, endpoint, error, isNamedByCommand: isNamedByCommand)
        }
    }

    private init(
        code: Code,
        _ failure: ConnectionFailure?,
        _ endpoint: OriginEndpoint,
        _ cause: any Error,
        isNamedByCommand: Bool = false
    ) {
        let standard = code == .tls ? "TLS cannot be used with '\(endpoint)'." : "'\(endpoint)' could not be reached."
        let message = failure?.message(endpoint, cause, isNamedByCommand: isNamedByCommand) ?? standard
        self.init(code: code, message: message, cause: cause)
        connectionFailure = failure
    }

    private static func isTLS(_ error: any Error) -> Bool {
        switch error {
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is OriginIdentity.Mismatch,
            is UntrustedCertificate:
            true
        default: false
        }
    }

    private static func isDescriptorShortage(_ error: any Error) -> Bool {
        guard let error = error as? NIOConnectionError else { return DescriptorShortage.isCause(of: error) }
        if error.connectionErrors.isEmpty { return DescriptorShortage.isPresent }
        return error.connectionErrors.contains { DescriptorShortage.isCause(of: $0.error) }
    }
}
