import HTTPCache
import HTTPCacheOperations
import Hummingbird

extension ControlResponder {
    /// The operations on the mode.
    static let mode: [Operation] = [
        Operation(path: "/v1/mode", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try responder.mode()
        },
        Operation(path: "/v1/mode", method: .put, scope: .operate) { try await $0.setMode($1, $2) },
        Operation(path: "/v1/mode", method: .delete, scope: .operate) { responder, request, context in
            try QueryMembers.none(in: request)
            try await responder.change(responder.operations.modeState) {
                try await responder.operations.endTemporaryMode(by: context.client.name)
            }
            return try responder.mode()
        },
    ]

    /// Handles `GET /v1/mode`.
    private func mode() throws -> Response { try Self.response(.ok, ModeReport(operations.modeState)) }

    /// Handles `PUT /v1/mode`.
    private func setMode(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await Self.content(of: request)
        let asked = try ModeRequest(json: content)
        let configured = operations.modeState.configured
        let temporary = try asked.temporaryMode(configured: configured, at: clock.now(), by: context.client.name)
        try await change(operations.modeState) {
            if let temporary {
                try await operations.begin(temporary)
            } else {
                try await operations.endTemporaryMode(by: context.client.name)
            }
        }
        return try mode()
    }

    /// Changes a setting that operators can set for a limited time.
    ///
    /// - Throws: ``ControlProblem`` if the store cannot save the change. The setting is then
    ///   unchanged.
    func change<Value>(
        _ state: @autoclosure () -> TemporaryState<Value>,
        by change: () async throws -> Void
    ) async throws(ControlProblem) {
        do {
            try await change()
        } catch {
            throw ControlProblem(
                .storeFailed,
                "The \(Value.settingName) is still '\(state().value.logged)', because the store cannot save the change: \(error)"
            )
        }
    }
}
