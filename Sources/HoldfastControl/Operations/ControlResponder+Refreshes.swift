import HTTPCache
import HTTPCacheOperations
import Hummingbird

extension ControlResponder {
    /// The operation that shows refreshes.
    static let refreshes: [Operation] = [
        Operation(path: "/v1/refreshes", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try Self.response(.ok, RefreshesReport(refreshes: responder.operations.refreshes))
        }
    ]
}

/// The running refreshes, followed by the completed refreshes, most recent first.
struct RefreshesReport: Codable {
    var refreshes: [RefreshReport]
}
