import HTTPCache
import Hummingbird

extension ControlResponder {
    /// The operations that show the state of the gateway.
    static let status: [Operation] = [
        Operation(path: "/v1/status", method: .get, scope: .read) { responder, _, _ in try await responder.status() },
        Operation(path: "/v1/origins", method: .get, scope: .read) { responder, _, _ in try responder.origins() },
    ]

    /// `GET /v1/status`
    private func status() async throws -> Response {
        let condition = await operations.storeCondition()
        let store = try? await operations.summary()
        return try Self.response(
            .ok,
            StatusReport(about, operations, phase(), condition, store, at: clock.now())
        )
    }

    /// `GET /v1/origins`
    private func origins() throws -> Response {
        try Self.response(.ok, OriginsReport(operations.origins, operations.modeState.mode))
    }
}
