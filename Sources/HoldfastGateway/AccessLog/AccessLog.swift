public import HTTPCache
import HTTPCacheSemantics
public import HoldfastConfiguration
public import HoldfastMetrics
public import Logging
import NIOCore
import Synchronization

/// The access log of a gateway: a line for each client request, or only for notable ones.
///
/// Each event loop writes lines into its own buffer and hands the buffer to one writer thread. So a
/// slow or full disk never delays a client. If a loop's lines cannot be written soon enough, later
/// lines are dropped and counted.
///
/// ```swift
/// let log = AccessLog(.init(level: .all, destination: .file("access.log")), logger: logger)
/// let server = GatewayServer(…, accessLog: log)
/// …
/// log.reopen()    // after the file was renamed
/// await log.close()
/// ```
public final class AccessLog: Sendable {
    /// Which requests are logged, and where and how. Every setting can change at any time.
    public struct Settings: Sendable, Hashable {
        /// Which requests are logged.
        public var level: Configuration.Log.Access
        /// How a line is written.
        public var format: Configuration.Log.Format
        /// Where lines are written.
        public var destination: Destination
        /// How much of a query is logged.
        public var query: Configuration.Log.Query
        /// How much of a client's address is logged.
        public var client: Configuration.Log.Client

        /// Creates settings. The defaults are those of `log` in a configuration file.
        public init(
            level: Configuration.Log.Access = .notable,
            format: Configuration.Log.Format = .combined,
            destination: Destination = .standardError,
            query: Configuration.Log.Query = .redacted,
            client: Configuration.Log.Client = .full
        ) {
            self.level = level
            self.format = format
            self.destination = destination
            self.query = query
            self.client = client
        }

        /// The settings of a configuration file.
        public init(_ configuration: Configuration) {
            let log = configuration.log
            self.init(
                level: log.access ?? .notable,
                format: log.format ?? .combined,
                destination: Destination(configuration.logDestination),
                query: log.query ?? .redacted,
                client: log.client ?? .full
            )
        }
    }

    /// Where lines are written.
    public enum Destination: Sendable, Hashable {
        /// Standard error, `stderr`.
        case standardError
        /// Standard output, `stdout`.
        case standardOutput
        /// The path of a file to append to. A missing file is created with permissions 0640.
        case file(String)

        /// - Parameter text: `stderr`, `stdout`, or a path.
        public init(_ text: String) {
            switch text {
            case "stderr": self = .standardError
            case "stdout": self = .standardOutput
            default: self = .file(text)
            }
        }
    }

    /// The maximum number of bytes in unwritten lines per event loop: 1 MiB
    package static let bufferLimit = 1 << 20

    private struct State {
        var settings: Settings
        var loops: [(eventLoop: any EventLoop, log: NIOLoopBoundBox<LoopAccessLog>)] = []
    }

    private let state: Mutex<State>
    private let writer: LogWriter
    private let clock: any WallClock

    /// - Parameter logger: reports when lines are being lost, and when they no longer are.
    public init(_ settings: Settings, clock: any WallClock = SystemWallClock(), logger: Logger) {
        state = Mutex(State(settings: settings))
        writer = LogWriter(settings.destination) { report, dropped in
            switch report {
            case .none: break
            case .begin(let code):
                logger.warning(
                    "Access log lines are being dropped",
                    metadata: ["log.dropped": "\(dropped)", "log.error": "\(LogLosses.reason(code))"]
                )
            case .end(let lost):
                logger.notice("The access log is complete again", metadata: ["log.dropped": "\(lost)"])
            }
        } tellProblem: { problem in
            logger.error("Access log cannot be opened", metadata: ["log.error": "\(problem)"])
        }
        self.clock = clock
    }

    /// The number of lines that were dropped because they could not be written, or not soon enough.
    package var droppedCount: UInt64 { writer.droppedCount }

    /// Why the destination cannot be opened, as a sentence; `nil` if it is open.
    package var problem: String? { writer.openingProblem }

    /// The metric `holdfast_log_dropped_total`.
    public var metrics: any MetricsCollector { metrics(with: nil) }

    /// The metric `holdfast_log_dropped_total`, including lines of events.
    package func metrics(with events: EventLog?) -> any MetricsCollector { Metrics(writer: writer, events: events) }

    private struct Metrics: MetricsCollector {
        let writer: LogWriter
        let events: EventLog?

        func families() async -> [MetricFamily] {
            let description = MetricDescription(
                "holdfast_log_dropped_total",
                .counter,
                "Log lines that were dropped because they could not be written in time."
            )
            var counts = [("access", writer.droppedCount)]
            if let events { counts.append(("events", events.droppedCount)) }
            let series = counts.map { log, count in
                MetricSeries([.init("log", log)], .integer(Int64(clamping: count)))
            }
            return [MetricFamily(description, series)]
        }
    }

    /// The settings in effect.
    package var settings: Settings { state.withLock { $0.settings } }

    /// Creates the part of the log that belongs to an event loop.
    ///
    /// - Parameters:
    ///   - labels: provides the names of the routes.
    ///   - identify: returns the names of stored responses; see ``ResponseStore/shortID(of:)``.
    func add(
        _ eventLoop: any EventLoop,
        _ labels: RouteLabels,
        _ identify: @escaping @Sendable (StoreKey) -> String?
    ) -> NIOLoopBoundBox<LoopAccessLog> {
        state.withLock { state in
            let part = LoopAccessLog(state.settings, writer, eventLoop, labels, identify, clock: clock)
            let log = NIOLoopBoundBox.makeBoxSendingValue(part, eventLoop: eventLoop)
            state.loops.append((eventLoop, log))
            return log
        }
    }

    /// Applies new settings to all later lines.
    public func configure(_ settings: Settings) {
        let loops = state.withLock { state in
            state.settings = settings
            return state.loops
        }
        writer.write(to: settings.destination)
        for (eventLoop, log) in loops { eventLoop.execute { log.value.settings = settings } }
    }

    /// Reopens the file, for example after it was renamed. Lines that were logged before may go to
    /// the old file or the new one. No line is lost.
    public func reopen() { writer.reopen() }

    /// Writes the lines logged so far, until the time is up. Lines logged later are dropped.
    public func close(within time: Duration = .seconds(2)) async {
        for (eventLoop, log) in state.withLock({ $0.loops }) {
            // This fails if the loop has shut down. In that case, the loop has no lines left.
            try? await eventLoop.submit { log.value.handOver() }.get()
        }
        await writer.close(within: time)
    }
}
