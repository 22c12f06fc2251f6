package import HoldfastConfiguration
package import NIOCore

extension GatewayServer {
    /// Reads certificates for connections that another server accepts, such as those that scrape
    /// metrics. They are reloaded and reported like those of the listeners.
    ///
    /// - Returns: creates the TLS handler of a new connection.
    /// - Throws: `CertificateRefusal`
    package func openCertificates(
        _ settings: HoldfastConfiguration.Configuration.TLS
    ) throws -> @Sendable () -> any ChannelHandler {
        let tls = try certificates.open(settings)
        return { tls.makeHandler() }
    }
}
