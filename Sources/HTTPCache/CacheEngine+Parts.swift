extension CacheEngine {
    /// The clocks, the counters and the fleet of an engine. The defaults suit a program that shares
    /// no responses; a test replaces the clocks.
    ///
    /// ```swift
    /// let parts = CacheEngine.Parts(telemetry: Telemetry(factory: factory))
    /// ```
    public struct Parts: Sendable {
        /// The clock that is read when a request or a response arrives.
        public var clock: any WallClock
        /// The clock for timeouts and probes.
        public var sleeper: any Clock<Duration>
        /// Returns a number from 0 to 1 for each probe of an unreachable origin.
        public var jitter: @Sendable () -> Double
        /// Counts the engine's work.
        public var telemetry: Telemetry
        /// Finds responses of other nodes; `nil` if none are shared.
        package var fleet: (any FleetResponses)?
        /// Limits how long fresh responses are served without validation; `nil` sets no limit.
        package var contact: ContactLease?
        /// Knows the origins of targets that do not name their origin; `nil` if every target does.
        package var targetOrigins: (any TargetOrigins)?
        /// The job to record or replay. It separates all of the engine's responses from those of
        /// other engines on the same store; `nil` for the ordinary partitions.
        package var job: JobRun?
        /// Called with each exchange of the job when its response's head, or its failure, is known.
        package var observeJob: (@Sendable (JobExchange) -> Void)?
        /// Finds the recorded request that differs least from a refused one; `nil` does not look.
        package var nearestInJob: (@Sendable (JobExchange) async -> NearestRecorded?)?

        /// Creates the parts of an engine that shares no responses.
        public init(
            clock: any WallClock = SystemWallClock(),
            sleeper: any Clock<Duration> = TimeoutClock(),
            jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
            telemetry: Telemetry = Telemetry()
        ) {
            self.clock = clock
            self.sleeper = sleeper
            self.jitter = jitter
            self.telemetry = telemetry
        }
    }
}
