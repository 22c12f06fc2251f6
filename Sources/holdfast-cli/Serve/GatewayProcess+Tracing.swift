import CommandLineSupport
import Foundation
import HoldfastGateway
import HoldfastMetrics
import HoldfastTracing
import Logging
import NIOCore

extension GatewayProcess {
    /// Creates the transport to the origins, and the tracer for the transport and the server.
    ///
    /// - Throws: ``CommandFailure`` if an OpenTelemetry variable specifies an unusable collector.
    static func makeTransport(
        _ settings: ServeSettings,
        _ metrics: MetricsRegistry,
        on group: any EventLoopGroup,
        _ proxy: JobProxy?,
        _ logger: Logger
    ) throws -> (OriginTransport, RequestTracer?) {
        let tracing: TracingConfiguration?
        do {
            tracing = try TracingConfiguration(environment: ProcessInfo.processInfo.environment) { warning in
                logger.warning("Ignoring an OpenTelemetry variable", metadata: ["traces.variable": "\(warning)"])
            }
        } catch {
            throw CommandFailure("\(error)")
        }
        var configuration = OriginTransport.Configuration(settings.file, routes: settings.gateway.routes)
        if let proxy {
            configuration.routes = nil
            configuration.trustRootsFile = proxy.originRoots
            configuration.destinations = proxy.destinations
        }
        guard let tracing else {
            return (try OriginTransport(configuration: configuration, group: group, logger: logger), nil)
        }
        let tracer = RequestTracer(tracing, version: Release.version, metrics: metrics, logger: logger)
        let transport = try OriginTransport(configuration: configuration, group: group, logger: logger, tracer: tracer)
        StandardStream.error.line("holdfast sending traces to \(tracing.endpoint)")
        return (transport, tracer)
    }
}
