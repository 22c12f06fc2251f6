import HTTPCache
import HTTPCacheOperations
import Hummingbird

extension ControlResponder {
    /// The operations on drained servers.
    static let drains: [Operation] = [
        Operation(path: "/v1/drains", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try responder.drains()
        },
        Operation(path: "/v1/drains", method: .put, scope: .operate) { try await $0.drain($1, $2) },
        Operation(path: "/v1/drains", method: .delete, scope: .operate) { try await $0.endDrain($1, $2) },
    ]

    private func drains() throws -> Response { try Self.response(.ok, DrainsReport(SubjectNames(operations))) }

    /// Handles `PUT /v1/drains`.
    private func drain(_ request: Request, _ context: ControlContext) async throws -> Response {
        let asked = try DrainRequest(json: try await Self.content(of: request))
        let subject = try SubjectNames(operations).subject(server: asked.server, of: asked.origin)
        try await set(asked.drain(of: subject, at: clock.now(), by: context.client.name))
        return try drains()
    }

    /// Handles `DELETE /v1/drains`.
    private func endDrain(_ request: Request, _ context: ControlContext) async throws -> Response {
        var members = try QueryMembers(request)
        let server = try DrainRequest.required("server", members.text("server"))
        let origin = try DrainRequest.required("origin", members.text("origin"))
        try members.end(known: ["origin", "server"])
        try await end(try SubjectNames(operations).subject(server: server, of: origin), by: context.client.name)
        return try drains()
    }

    /// Sets a switch.
    ///
    /// - Throws: ``ControlProblem`` if there are too many switches, or if the store cannot save the
    ///   change. Nothing has changed then.
    func set(_ new: Switch) async throws(ControlProblem) {
        do {
            try await operations.set(new)
        } catch is SwitchKeeper.Full {
            throw ControlProblem(
                .invalidRequest,
                "\(Switches.limit) modes of origins and routes, and drains, are in force, which is the limit. "
                    + "End one of them, or edit the configuration file.",
                limit: Switches.limit
            )
        } catch {
            throw Self.unsaved(new.subject, error)
        }
    }

    /// Ends a switch, if it is in force.
    ///
    /// - Throws: ``ControlProblem`` if the store cannot save the change. The switch is then still
    ///   in force.
    func end(_ subject: Switch.Subject, by client: String) async throws(ControlProblem) {
        do {
            _ = try await operations.endSwitch(of: subject, by: client)
        } catch {
            throw Self.unsaved(subject, error)
        }
    }

    private static func unsaved(_ subject: Switch.Subject, _ error: any Error) -> ControlProblem {
        ControlProblem(
            .storeFailed,
            "The \(subject) is unchanged, because the store cannot save the change: \(error)"
        )
    }
}
