import Foundation
import Holdfast
import HoldfastConfiguration
import HoldfastFleet
import HoldfastGateway

/// Checks a configuration and everything that a gateway needs to start with it, except the content
/// of the store. It changes nothing.
enum ConfigurationCheck {
    /// - Parameter gateway: the gateway's settings; `nil` for a configuration of the library.
    /// - Returns: the findings that do not prevent a start.
    /// - Throws: `ConfigurationError` with the findings that do.
    static func warnings(
        of configuration: Configuration,
        _ gateway: GatewayConfiguration?
    ) throws -> [ConfigurationError.Finding] {
        var warnings = try gateway.map { try examineCertificates($0, configuration) } ?? []
        warnings += try examineOrigins(configuration)
        warnings += configuration.checkWarnings
        try FleetMember.check(configuration, environment: ProcessInfo.processInfo.environment)
        if let gateway {
            let start = StartCheck(configuration, gateway)
            guard start.errors.isEmpty else { throw ConfigurationError(start.errors) }
            warnings += start.warnings
        }
        return warnings
    }

    /// - Returns: the findings that do not prevent clients from connecting.
    /// - Throws: `ConfigurationError` with the findings that do.
    private static func examineCertificates(
        _ gateway: GatewayConfiguration,
        _ configuration: Configuration
    ) throws -> [ConfigurationError.Finding] {
        let now = SystemWallClock().now()
        var found = CertificateFinding.findings(of: gateway.listeners, routes: gateway.routes.routes, at: now)
            .map { (setting: "listen", $0) }
        if let listen = configuration.metrics.listen, let tls = configuration.metricsTLS {
            let listener = GatewayListener.address(try ListenAddress(listen), tls: tls)
            found += CertificateFinding.findings(of: [listener], routes: [], at: now).map { ("metrics.tls", $0) }
        }
        func findings(_ areErrors: Bool) -> [ConfigurationError.Finding] {
            found.filter { $0.1.isError == areErrors }.map { configuration.finding($0.setting, "\($0.1)") }
        }
        let errors = findings(true)
        guard errors.isEmpty else { throw ConfigurationError(errors) }
        return findings(false)
    }

    /// - Returns: the findings that do not prevent requests to an origin: expiration dates and
    ///   disabled protection.
    /// - Throws: `ConfigurationError` with the findings that do.
    private static func examineOrigins(_ configuration: Configuration) throws -> [ConfigurationError.Finding] {
        var (errors, warnings): ([ConfigurationError.Finding], [ConfigurationError.Finding]) = ([], [])
        for origin in configuration.resolvedOrigins {
            func finding(_ message: String) -> ConfigurationError.Finding {
                .init(
                    file: origin.file ?? configuration.file,
                    line: origin.line,
                    subject: "origin '\(origin.url)'",
                    setting: nil,
                    message: message
                )
            }
            for found in CertificateFinding.findings(of: [origin], at: SystemWallClock().now()) {
                if found.isError {
                    errors.append(finding(found.message))
                } else {
                    warnings.append(finding(found.message))
                }
            }
            warnings += (origin.warnings + configuration.mirrorNotes(about: origin)).map(finding)
        }
        guard errors.isEmpty else { throw ConfigurationError(errors) }
        return warnings
    }
}
