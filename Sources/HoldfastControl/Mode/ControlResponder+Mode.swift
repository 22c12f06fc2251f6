import HTTPCache
import Hummingbird

extension ControlResponder {
    /// The operations on the mode.
    static let mode: [Operation] = [
        Operation(path: "/v1/mode", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try responder.mode()
        },
        Operation(path: "/v1/mode", method: .put, scope: .operate) { try await $0.setMode($1, $2) },
    ]

    /// `GET /v1/mode`
    private func mode() throws -> Response { try Self.response(.ok, ModeReport(operations.modeState)) }

    /// `PUT /v1/mode`
    private func setMode(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await content(of: request)
        let asked = try ModeRequest(json: content)
        let configured = operations.modeState.configured
        let temporary = try asked.temporaryMode(configured: configured, at: clock.now(), by: context.client.name)
        do {
            if let temporary {
                try await operations.begin(temporary)
            } else {
                try await operations.endTemporaryMode(by: context.client.name)
            }
        } catch {
            throw ControlProblem(
                .storeFailed,
                "The mode is still '\(operations.modeState.mode.rawValue)', because the store cannot keep another one: \(error)"
            )
        }
        return try mode()
    }
}
