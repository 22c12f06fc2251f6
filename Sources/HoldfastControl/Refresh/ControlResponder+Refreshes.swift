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

/// The running refreshes, then the ones that ended, last ended first.
struct RefreshesReport: Codable {
    var refreshes: [RefreshReport]
}
