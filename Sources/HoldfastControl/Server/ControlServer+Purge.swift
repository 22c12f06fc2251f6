import Foundation
import HTTPCache
import HTTPCacheOperations

/// The control plane's response to a purge.
package struct PurgeReply: Sendable, Hashable {
    /// The HTTP status.
    package var status: Int
    /// The purge's result, or a problem (RFC 9457) if the status is an error.
    package var json: [UInt8]
    /// The number of seconds to wait before retrying.
    package var retryAfter: Int?
}

extension ControlServer {
    /// Performs a purge that did not arrive through the control plane. It counts toward the same
    /// rate limit, and appears in the same log and history, as other purges.
    ///
    /// - Parameter client: the client's name, for the log and the history.
    package func purge(_ purge: PurgeRequest, by client: String) async -> PurgeReply {
        do {
            let result = try await coordinator.purge(purge, by: client)
            let acknowledgement = await PurgeAcknowledgement(result, of: purge, responder.operations.sharing)
            return PurgeReply(
                status: acknowledgement.isReached ? 200 : 202,
                json: Self.line(acknowledgement.result)
            )
        } catch let wait as PurgeCoordinator.Wait {
            return PurgeReply(status: wait.problem.status, json: Self.line(wait.problem), retryAfter: wait.seconds)
        } catch let problem as ControlProblem {
            return PurgeReply(status: problem.status, json: Self.line(problem))
        } catch {
            // The purge was canceled while it was waiting. The coordinator converts every other
            // error to a problem.
            return PurgeReply(status: ControlProblem.ended.status, json: Self.line(ControlProblem.ended))
        }
    }

    private static func line(_ value: some Encodable) -> [UInt8] {
        let json = (try? ControlResponder.encoder.encode(value)) ?? Data()
        return Array(json) + [UInt8(ascii: "\n")]
    }
}
