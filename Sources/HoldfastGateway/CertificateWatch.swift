import OriginConnections
public import ServiceLifecycle
import TLSCertificates

/// Reloads certificates when their files change.
///
/// It checks the files periodically. Tools replace files in many ways (by changing a link, by
/// renaming, or in place), and no notification covers all of them.
public struct CertificateWatch: Service {
    private let server: GatewayServer
    private let transport: OriginTransport?
    private let interval: Duration
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - transport: also reloads the files of its origins.
    ///   - interval: the time between two checks of the files.
    ///   - clock: the clock that measures the interval.
    public init(
        _ server: GatewayServer,
        _ transport: OriginTransport? = nil,
        every interval: Duration = .seconds(60),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.server = server
        self.transport = transport
        self.interval = interval
        self.clock = clock
    }

    /// Runs until its task is canceled, or its service group shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await clock.sleep(for: interval)) != nil {
                server.reloadCertificates(.changed)
                transport?.reloadCertificates(.changed)
            }
        }
    }
}
