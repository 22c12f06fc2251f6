import CommandLineSupport
import HTTPCacheOperations
import HoldfastControl
import NIOHTTP1

/// A recording in the running gateway that has the store open.
struct GatewayRecording: Sendable {
    private let gateway: ControlClient

    /// - Returns: `nil` if no gateway listens on the control socket of the store.
    /// - Throws: `CommandFailure` if this user may not connect.
    init?(store: String) throws {
        guard let gateway = try ControlClient(reaching: .inStore(store), timeLimit: nil) else { return nil }
        self.gateway = gateway
    }

    /// Begins a recording.
    ///
    /// - Returns: the address to which the requests are sent.
    /// - Throws: `CommandFailure`
    func begin(_ request: RecordingRequest) async throws -> String {
        let report: RecordingReport = try await gateway.send(.POST, "/v1/recordings", request)
        guard let url = report.url else {
            throw CommandFailure("The recording '\(report.name)' ended immediately (\(report.endedBy ?? "unknown")).")
        }
        return url
    }

    /// Ends a recording. The gateway first finishes the requests in progress.
    ///
    /// - Throws: `CommandFailure` if it has ended already.
    func end(_ name: JobName, keeps: Bool) async throws -> RecordingReport {
        let path = "/v1/recordings/\(name)?keep=\(keeps)"
        return try await gateway.send(.DELETE, path, Optional<String>.none, isQueued: true)
    }
}
