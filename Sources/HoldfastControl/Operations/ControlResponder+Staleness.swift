import HTTPCache
import HTTPCacheOperations
import Hummingbird

extension ControlResponder {
    /// The operations that show and extend the staleness limit while origins fail.
    static let staleness: [Operation] = [
        Operation(path: "/v1/staleness", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try responder.staleness()
        },
        Operation(path: "/v1/staleness", method: .put, scope: .operate) { try await $0.setStaleness($1, $2) },
        Operation(path: "/v1/staleness", method: .delete, scope: .operate) { responder, request, context in
            try QueryMembers.none(in: request)
            try await responder.change(responder.operations.stalenessState) {
                try await responder.operations.endTemporaryStaleness(by: context.client.name)
            }
            return try responder.staleness()
        },
    ]

    /// Handles `GET /v1/staleness`.
    private func staleness() throws -> Response {
        try Self.response(.ok, StalenessReport(operations.stalenessState))
    }

    /// Handles `PUT /v1/staleness`.
    private func setStaleness(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await Self.content(of: request)
        let asked = try StalenessRequest(json: content)
        let temporary = try asked.temporaryStaleness(at: clock.now(), by: context.client.name)
        try await change(operations.stalenessState) { try await operations.begin(temporary) }
        return try staleness()
    }
}
