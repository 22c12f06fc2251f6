import HTTPCache
import HTTPCacheOperations
import Hummingbird

extension ControlResponder {
    /// The operations that show the state of the gateway.
    static let status: [Operation] = [
        Operation(path: "/v1/status", method: .get, scope: .read) { try await $0.status($1, $2) },
        Operation(path: "/v1/origins", method: .get, scope: .read) { try await $0.origins($1, $2) },
    ]

    /// Handles `GET /v1/status`.
    private func status(_ request: Request, _: ControlContext) async throws -> Response {
        try QueryMembers.none(in: request)
        let condition = await operations.storeCondition()
        let statistics = try? await operations.statistics()
        return try Self.response(
            .ok,
            StatusReport(
                about,
                operations,
                phase(),
                listening(),
                condition,
                statistics,
                await operations.sharing?.fleet(),
                at: clock.now()
            )
        )
    }

    /// Handles `GET /v1/origins`.
    private func origins(_ request: Request, _: ControlContext) async throws -> Response {
        try QueryMembers.none(in: request)
        let drains = DrainsReport(SubjectNames(operations)).drains
        return try Self.response(.ok, OriginsReport(operations.origins, operations.modeState.value, drains: drains))
    }
}
