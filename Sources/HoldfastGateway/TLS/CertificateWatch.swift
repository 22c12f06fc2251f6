public import ServiceLifecycle

/// Reads certificates again when their files have changed.
///
/// It looks at the files from time to time: tools replace them in many ways, as a link to another
/// folder, by renaming, or in place, and no notification covers all of them.
public struct CertificateWatch: Service {
    private let server: GatewayServer
    private let transport: OriginTransport?
    private let interval: Duration
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - transport: reads the files of its origins too.
    ///   - interval: the time between two looks at the files.
    ///   - clock: the clock of this time.
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

    /// Runs until its task is cancelled, or its service group shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await clock.sleep(for: interval)) != nil {
                server.reloadCertificates(.changed)
                transport?.reloadCertificates(.changed)
            }
        }
    }
}
