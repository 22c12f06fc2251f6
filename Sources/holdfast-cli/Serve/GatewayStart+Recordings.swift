import HTTPCache
import HTTPCacheOperations
import Holdfast
import HoldfastGateway
import NIOCore
import NIOPosix

extension GatewayStart {
    /// The maximum number of threads of a recording. Its requests must not slow down the others.
    private static let recordingThreads = 2

    /// Creates the recordings of this gateway. Each has an engine and a listener of its own.
    func makeRecordings(
        _ engine: CacheEngine,
        _ store: CacheManager,
        _ configuration: ReloadableConfiguration
    ) -> RecordingKeeper {
        let parts = RecordingKeeper.Parts(
            store: store,
            clock: SystemWallClock(),
            sleeper: ContinuousClock(),
            logger: logger,
            mode: { engine.mode },
            statesHTTPS: { configuration.settings.gateway.clientsUseTLS(on: listeners) },
            makePartition: {
                var random = SystemRandomNumberGenerator()
                return JobPartition(using: &random)
            },
            open: { run, observe in
                try await openRecording(JobGateway(.recording, run, observe: observe), configuration.settings, store)
            }
        )
        return RecordingKeeper(parts)
    }

    /// Opens a free port of loopback, at which a job is recorded into the gateway's store.
    private func openRecording(
        _ job: JobGateway,
        _ settings: ServeSettings,
        _ store: CacheManager
    ) async throws -> RecordingKeeper.Address {
        let threads = min(Self.recordingThreads, settings.threads ?? System.coreCount)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        do {
            let start = GatewayStart(
                settings: settings.forRecording,
                named: named,
                listeners: [.address(try ListenAddress("127.0.0.1:0"))],
                prepared: PreparedListeners([]),
                group: group,
                logger: logger,
                levels: levels,
                events: events,
                job: job
            )
            let address = try await start.open(store)
            return RecordingKeeper.Address(address.url) { storesAll in
                await address.close(storesAll: storesAll)
                try? await group.shutdownGracefully()
            }
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }
}
