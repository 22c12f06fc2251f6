import HTTPCache
import Hummingbird

extension ControlResponder {
    /// The operation on refreshes.
    static let refreshes: [Operation] = [
        Operation(path: "/v1/refreshes", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try Self.response(.ok, RefreshesReport(refreshes: responder.operations.refreshes))
        }
    ]
}

/// The refreshes under way, then the last ones that have ended, the last ended first.
struct RefreshesReport: Codable {
    var refreshes: [RefreshReport]
}
