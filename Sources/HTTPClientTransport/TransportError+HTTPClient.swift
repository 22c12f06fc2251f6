import AsyncHTTPClient
import HTTPCache
import LibC
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

extension TransportError {
    /// Converts the client's error to the cache's terms. Most importantly, this determines whether
    /// the origin is reachable.
    ///
    /// - Parameter origin: the scheme and authority, for the message. The rest of the URL may
    ///   contain secrets.
    init(_ error: any Error, origin: String) {
        // An error from the request's own body does not concern the origin.
        if let error = error as? TransportError {
            self = error
            return
        }
        let (code, phrase) = Self.classify(error)
        self.init(code: code, message: "\(phrase) '\(origin)'.", cause: error)
    }

    /// Whether the connection closed between two messages, not within a message.
    static func isClose(_ error: any Error) -> Bool {
        !(error is HTTPParserError) && classify(error).0 == .connectionClosed
    }

    private static let outOfDescriptors: (Code, String) = (
        .outOfDescriptors,
        "No file descriptor is left for a connection; raise the limit of open files (ulimit -n) to reach"
    )

    private static func classify(_ error: any Error) -> (Code, String) {
        switch error {
        case _ where DescriptorShortage.isCause(of: error): return outOfDescriptors
        case let error as NIOConnectionError
        where error.connectionErrors.isEmpty
            ? DescriptorShortage.isPresent
            : error.connectionErrors.contains { DescriptorShortage.isCause(of: $0.error) }:
            return outOfDescriptors
        case is CancellationError: return (.cancelled, "The request was canceled:")
        case let error as HTTPClientError: return classify(error)
        case let error as NIOConnectionError:
            if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
                return (.nameResolution, "No address was found for the host of")
            }
            return (.connect, "Could not connect to")
        case is SocketAddressError: return (.nameResolution, "No address was found for the host of")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: return (.tls, "TLS could not be set up with")
        case let error as HTTPParserError:
            return error == .invalidEOFState
                ? (.connectionClosed, "The connection was closed in the middle of the response from")
                : (.protocolViolation, "An invalid HTTP response was received from")
        case let error as ChannelError:
            if case .connectTimeout = error { return (.connectTimeout, "Timed out connecting to") }
            return (.connectionClosed, "The connection was closed by")
        case let error as IOError:
            return [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL, ETIMEDOUT].contains(error.errnoCode)
                ? (.connect, "Could not connect to") : (.connectionClosed, "The connection was lost to")
        default: return (.other, "The exchange failed with")
        }
    }

    private static func classify(_ error: HTTPClientError) -> (Code, String) {
        switch error {
        case .proxyAuthenticationRequired: return (.connect, "The proxy rejected the credentials on the way to")
        case .invalidProxyResponse: return (.connect, "The proxy opened no tunnel to")
        case .connectTimeout, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout:
            return (.connectTimeout, "Timed out connecting to")
        // This timer runs while the connection would accept more data, so the sender of the content
        // has stalled, not the origin.
        case .writeTimeout: return (.cancelled, "The request's content stalled while being sent to")
        case .readTimeout, .deadlineExceeded, .tlsHandshakeTimeout, .socksHandshakeTimeout:
            return (.timeout, "Timed out waiting for a response from")
        case .remoteConnectionClosed: return (.connectionClosed, "The connection was closed by")
        case .cancelled: return (.cancelled, "The request was canceled:")
        case .bodyLengthMismatch, .invalidURL, .emptyHost,
            .emptyScheme, .traceRequestWithBody, .missingSocketPath:
            return (.invalidRequest, "The request cannot be sent unchanged to")
        case .alreadyShutdown: return (.other, "The transport was shut down before it reached")
        default: return (.other, "The exchange failed with")
        }
    }
}
