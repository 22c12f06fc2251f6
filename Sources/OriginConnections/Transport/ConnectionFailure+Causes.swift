import GatewayRouting
import HTTPCache
import LibC
import NIOCore
import NIOPosix
import NIOSSL

extension ConnectionFailure {
    /// Returns the cause that an error shows; `nil` if it shows none.
    init?(_ error: any Error) {
        switch error {
        case let error as NIOConnectionError:
            // A name may have several addresses. The attempt that got furthest says most.
            let all = error.connectionErrors.compactMap { ConnectionFailure($0.error) }
            guard let furthest = all.max(by: { $0.progress < $1.progress }) else { return nil }
            self = furthest
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: self = .refused
            case ECONNRESET, EPIPE: self = .reset
            case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL: self = .noRoute
            case EACCES, EPERM: self = .blocked
            case ETIMEDOUT: self = .connectTimeout
            default: return nil
            }
        case ChannelError.connectTimeout: self = .connectTimeout
        case is HandshakeTimeout: self = .handshakeTimeout
        case is OriginIdentity.Mismatch: self = .wrongName
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: self = .wrongName
        case let error as UntrustedCertificate:
            self =
                error.now > error.notAfter
                ? .certificateExpired : error.now < error.notBefore ? .certificateNotYetValid : .unknownAuthority
        case let error as NIOSSLError where error == .handshakeFailed(.sslError([.eofDuringHandshake])):
            self = .handshakeRefused
        default:
            guard let number = TLSErrorNumber(error) else { return nil }
            if number == .certificateRejected {
                self = .unknownAuthority
            } else if number == .notTLS {
                self = .notTLS
            } else if let alert = number.alert {
                // These alerts are about the gateway's certificate. RFC 8446 §6.2
                self = Self.certificateAlerts.contains(alert) ? .clientCertificate : .handshakeRefused
            } else {
                return nil
            }
        }
    }

    /// bad_certificate, unsupported, revoked, expired, unknown, unknown_ca, access_denied and
    /// certificate_required
    private static let certificateAlerts: Set<UInt32> = [42, 43, 44, 45, 46, 48, 49, 116]

    /// How far an attempt to connect to an address got.
    private var progress: Int {
        switch self {
        case .blocked: 0
        case .noRoute: 1
        case .connectTimeout: 2
        case .refused: 3
        default: 4
        }
    }

    /// Returns a sentence that states the failure, and one that states the next step. Settings are
    /// those of an origin in the configuration file.
    func message(_ endpoint: OriginEndpoint, _ cause: any Error) -> String {
        switch self {
        case .noRoute: "There is no route to '\(endpoint)'. Check this machine's network and the address."
        case .blocked:
            "This machine does not allow connections to '\(endpoint)'. Check its firewall and security policy."
        case .connectTimeout:
            "'\(endpoint)' did not accept a connection in time. Check whether a firewall drops packets, or raise "
                + "'timeouts.connect'."
        case .refused: "'\(endpoint)' refused the connection. Check whether it is running and listens on this port."
        case .reset: "'\(endpoint)' reset the connection. Check what listens on this port, and firewalls on the way."
        case .handshakeTimeout:
            "'\(endpoint)' did not complete the TLS handshake in time. Check whether this port uses TLS, or raise "
                + "'timeouts.connect'."
        case .notTLS: "'\(endpoint)' does not use TLS on this port. Use the port with TLS, or an 'http://' URL."
        case .handshakeRefused:
            "'\(endpoint)' ended the TLS handshake\(Self.alert(cause)). Check which names and TLS versions it accepts; "
                + "'server-name' sets the name."
        case .clientCertificate:
            "'\(endpoint)' did not accept the gateway's client certificate\(Self.alert(cause)). Set 'certificate' and "
                + "'key' to files that it accepts."
        case .unknownAuthority:
            "The certificate of '\(endpoint)' is not signed by a trusted authority. Set 'ca' to a file with the "
                + "authority's certificate, and check whether the server sends its intermediate certificates."
        case .wrongName:
            "The certificate of '\(endpoint)' is for another name. Use a name of the certificate in the URL or in "
                + "'server-name'."
        case .certificateExpired:
            "The certificate of '\(endpoint)' has expired. Renew it on the server, and check this machine's clock."
        case .certificateNotYetValid:
            "The certificate of '\(endpoint)' is not valid yet. Check the clocks of this machine and of the server."
        }
    }

    private static func alert(_ cause: any Error) -> String {
        TLSErrorNumber(cause)?.alert.map { " (TLS alert \($0))" } ?? ""
    }
}
