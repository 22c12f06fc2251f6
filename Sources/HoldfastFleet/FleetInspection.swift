package import FleetTier
import HTTPCache
import HTTPCacheSemantics
package import HoldfastConfiguration
import NIOCore
import RedisTier
import Synchronization

/// Inspects a fleet's server without a store, for operators' commands.
///
/// It does not join the log, and is not a node of the fleet.
package struct FleetInspection: Sendable {
    /// An error message for the operator.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The time limit for reaching the log.
    private static let limit = Duration.seconds(10)
    /// The interval between checks of the connection.
    private static let pause = Duration.milliseconds(5)

    private let parts: FleetParts
    private let connector: RedisConnector
    private let expected: RedisExaminer.Expectations
    private let sealer: LogSealer

    /// The fleet's name on the server.
    package var namespace: FleetNamespace { parts.namespace }
    /// The node described by the configuration.
    package var node: NodeName { parts.node }

    /// - Parameter environment: the environment variables, which may hold secrets.
    /// - Returns: `nil` if the configuration shares nothing.
    /// - Throws: see ``FleetMember/check(_:environment:)``.
    package init?(_ file: HoldfastConfiguration.Configuration, environment: [String: String]) throws {
        guard let parts = try FleetParts(file, environment: environment) else { return nil }
        self.parts = parts
        connector = try parts.makeConnector(file, as: "holdfast-command", within: .seconds(5))
        sealer = LogSealer(keys: parts.keys, namespace: parts.namespace)
        var expected = RedisExaminer.Expectations(namespace: parts.namespace)
        expected.sharesResponses = file.fleet.share == .responses
        expected.validatesWhenCutOff = file.fleet.cutOff == .validate
        expected.quorum = file.fleet.quorum
        expected.timeout = file.fleet.timeout
        expected.longest = file.fleet.longest
        self.expected = expected
    }

    /// Examines the server, and leaves no data on it. It never throws: a failure is reported as a
    /// finding.
    package func check() async -> [EngineFinding] {
        let sealer = sealer
        return await RedisExaminer(
            connector,
            parts.address,
            expected: expected,
            opens: { (try? sealer.open($0)) != nil },
            now: { SystemWallClock().now() }
        ).examine()
    }

    /// Decrypts a purge from the log.
    package func open(_ sealed: [UInt8]) throws(SealFault) -> PurgeRecord { try sealer.open(sealed) }

    /// Connects to the log and reads it.
    ///
    /// - Throws: ``Failure`` if the log cannot be reached, or the error of `body`.
    package func withLog<Value: Sendable>(
        _ body: (any FleetLog) async throws -> Value
    ) async throws -> Value {
        let failure = Mutex<RedisTierError?>(nil)
        let log = RedisLog(
            connector,
            namespace: namespace,
            clock: ContinuousClock(),
            random: { Double.random(in: 0..<1) },
            onFailure: { error in failure.withLock { $0 = error } }
        )
        let running = Task { await log.run() }
        defer { running.cancel() }
        let end = ContinuousClock.now + Self.limit
        while !log.isReady {
            if let error = failure.withLock({ $0 }) { throw Failure(description: error.message) }
            guard ContinuousClock.now < end else {
                throw Failure(description: "The server in 'fleet.url' was not ready in time.")
            }
            try await Task.sleep(for: Self.pause)
        }
        return try await body(log)
    }
}
