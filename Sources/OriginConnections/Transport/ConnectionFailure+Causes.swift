import GatewayRouting
package import HTTPCache
import LibC
import NIOCore
import NIOPosix
import NIOSSL

extension ConnectionFailure {
    /// Returns the cause that an error shows; `nil` if it shows none.
    package init?(_ error: any Error) {
        switch error {
        case let error as NIOConnectionError:
            // A name may have several addresses. The attempt that got furthest says most.
            let all = error.connectionErrors.compactMap { ConnectionFailure($0.error) }
            guard let furthest = all.max(by: { $0.progress < $1.progress }) else { return nil }
            self = furthest
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: self = .refused
            case ECONNRESET: self = .reset
            // The server had closed its side first. Only TLS writes before a connection is ready.
            case EPIPE: self = .handshakeRefused
            case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL: self = .noRoute
            case EACCES, EPERM: self = .blocked
            case ETIMEDOUT: self = .connectTimeout
            default: return nil
            }
        case ChannelError.connectTimeout: self = .connectTimeout
        case is HandshakeTimeout: self = .handshakeTimeout
        case is ReceivedTLS: self = .speaksTLS
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
    private static let certificateAlerts: Set<UInt32> = [42, 43, 44, 45, 46, 48, 49, certificateRequired]

    /// The server wants a certificate, and the gateway sent none.
    private static let certificateRequired: UInt32 = 116

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
    ///
    /// - Parameter isNamedByCommand: whether the command of a job named the origin. Then it has no
    ///   such settings.
    func message(_ endpoint: OriginEndpoint, _ cause: any Error, isNamedByCommand: Bool = false) -> String {
        let nextStep = isNamedByCommand ? adviceOnCommand ?? advice : advice
        return "\(fault(of: "\(endpoint)", cause)) \(nextStep)"
    }

    /// Returns a sentence that states the failure.
    ///
    /// - Parameter server: the server's URL.
    package func fault(of server: String, _ cause: any Error) -> String {
        switch self {
        case .noRoute: "There is no route to '\(server)'."
        case .blocked: "This machine does not allow connections to '\(server)'."
        case .connectTimeout: "'\(server)' did not accept a connection in time."
        case .refused: "'\(server)' refused the connection."
        case .reset: "'\(server)' reset the connection."
        case .handshakeTimeout: "'\(server)' did not complete the TLS handshake in time."
        case .notTLS: "'\(server)' does not use TLS on this port."
        case .speaksTLS: "'\(server)' speaks TLS on this port."
        case .handshakeRefused: "'\(server)' ended the TLS handshake\(Self.alert(cause))."
        case .clientCertificate where TLSErrorNumber(cause)?.alert == Self.certificateRequired:
            "'\(server)' requires a client certificate, and none is set."
        case .clientCertificate: "'\(server)' did not accept the gateway's client certificate\(Self.alert(cause))."
        case .unknownAuthority: "The certificate of '\(server)' is not signed by a trusted authority."
        case .wrongName:
            "The certificate of '\(server)' is for " + ((cause as? OriginIdentity.Mismatch)?.words ?? "another name")
                + "."
        case .certificateExpired: "The certificate of '\(server)' has expired."
        case .certificateNotYetValid: "The certificate of '\(server)' is not valid yet."
        }
    }

    private var advice: String {
        switch self {
        case .noRoute: "Check this machine's network and the address."
        case .blocked: "Check its firewall and security policy."
        case .connectTimeout: "Check whether a firewall drops packets, or raise 'timeouts.connect'."
        case .refused: "Check whether it is running and listens on this port."
        case .reset: "Check what listens on this port, whether it expects TLS ('https://'), and firewalls on the way."
        case .handshakeTimeout: "Check whether this port uses TLS, or raise 'timeouts.connect'."
        case .notTLS: "Use the port with TLS, or an 'http://' URL."
        case .speaksTLS: "Use an 'https://' URL, or the port without TLS."
        case .handshakeRefused:
            "Check whether this port uses TLS, and which names and TLS versions the server accepts; 'server-name' sets the name."
        case .clientCertificate: "Set 'certificate' and 'key' to files that it accepts."
        case .unknownAuthority:
            "Set 'ca' to a file with the authority's certificate, and check whether the server sends its intermediate certificates."
        case .wrongName: "Use a name of the certificate in the URL or in 'server-name'."
        case .certificateExpired: "Renew it on the server, and check this machine's clock."
        case .certificateNotYetValid: "Check the clocks of this machine and of the server."
        }
    }

    /// The next step for an origin that the command of a job named; `nil` if it is the same as for
    /// other origins.
    private var adviceOnCommand: String? {
        switch self {
        case .handshakeRefused: "Check whether this port uses TLS, and which TLS versions the server accepts."
        case .clientCertificate: "Use '--config' with a file that has a route to it, and 'certificate' and 'key'."
        case .unknownAuthority:
            "Use '--origin-ca FILE' with the authority's certificate, and check whether the server sends its intermediate certificates."
        case .wrongName: "Use a name of the certificate in the URL."
        default: nil
        }
    }

    private static func alert(_ cause: any Error) -> String {
        TLSErrorNumber(cause)?.alert.map { " (TLS alert \($0))" } ?? ""
    }
}
