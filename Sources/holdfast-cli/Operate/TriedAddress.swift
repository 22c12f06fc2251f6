import AsyncHTTPClient
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway
import NIOSSL

/// The address of a running gateway at which 'holdfast try' is a client.
struct TriedAddress: Sendable, CustomStringConvertible {
    /// The address as the gateway states it: `0.0.0.0:443`, or `unix:` and a path.
    let description: String
    let hasTLS: Bool

    /// Chooses the listener for a URL: one with TLS for https, one without TLS for http, or the
    /// other kind if there is no such listener.
    ///
    /// - Returns: `nil` if the gateway does not listen yet.
    init?(_ status: StatusReport, for target: TargetURI) {
        let plain = status.listening.flatMap { $0.hasPrefix("https://") ? nil : $0 }
        if let secure = status.listeningTLS, target.scheme == "https" || plain == nil {
            description = secure
            hasTLS = true
        } else if let plain {
            description = plain
            hasTLS = false
        } else {
            return nil
        }
    }

    /// Returns the URL to request. With TLS on a port, it has the host that the client requests,
    /// because the host selects the certificate.
    func url(of target: TargetURI) throws -> String {
        let scheme = hasTLS ? "https" : "http"
        if description.hasPrefix("unix:") {
            // The client's form for a Unix socket: the path replaces the host.
            let path = description.dropFirst("unix:".count).utf8.map { byte in
                "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            return "\(scheme)+unix://\(path.joined())\(target.requestTarget)"
        }
        let own = try host
        let name = hasTLS ? target.host : own.contains(":") ? "[\(own)]" : own
        let port = try ListenAddress(description).port
        return "\(scheme)://\(name):\(port)\(target.requestTarget)"
    }

    /// Returns the settings of an HTTP client that connects to this address.
    func clientConfiguration(for target: TargetURI) throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        // A redirect is the gateway's response, so do not follow it.
        configuration.redirectConfiguration = .disallow
        guard hasTLS else { return configuration }
        // The gateway itself stated the address, on its control socket. Its certificate may be for
        // other names, or of a private authority.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        configuration.tlsConfiguration = tls
        if !description.hasPrefix("unix:") { configuration.dnsOverride = try [target.host: host] }
        return configuration
    }

    /// The address that the gateway sees as its client's: that of this machine by which its own
    /// address is reached.
    var client: String {
        get throws { description.hasPrefix("unix:") ? AddressRange.unixName : try host }
    }

    /// The host to connect to, because a wildcard address cannot be connected to.
    private var host: String {
        get throws {
            switch try ListenAddress(description).host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            case let host: host
            }
        }
    }
}
