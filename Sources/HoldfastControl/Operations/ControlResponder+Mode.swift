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
        Operation(path: "/v1/mode", method: .delete, scope: .operate) { try await $0.endMode($1, $2) },
    ]

    /// Handles `GET /v1/mode`.
    private func mode() throws -> Response {
        try Self.response(.ok, ModeReport(operations.modeState, SubjectNames(operations)))
    }

    /// Handles `DELETE /v1/mode`.
    private func endMode(_ request: Request, _ context: ControlContext) async throws -> Response {
        var members = try QueryMembers(request)
        let (origin, route) = (members.text("origin"), members.text("route"))
        try members.end(known: ["origin", "route"])
        if let subject = try SubjectNames(operations).subject(origin: origin, route: route) {
            try await end(subject, by: context.client.name)
        } else {
            try await change(operations.modeState) {
                try await operations.endTemporaryMode(by: context.client.name)
            }
        }
        return try mode()
    }

    /// Handles `PUT /v1/mode`.
    private func setMode(_ request: Request, _ context: ControlContext) async throws -> Response {
        let content = try await Self.content(of: request)
        let asked = try ModeRequest(json: content)
        let configured = operations.modeState.configured
        let temporary = try asked.temporaryMode(configured: configured, at: clock.now(), by: context.client.name)
        if let subject = try SubjectNames(operations).subject(origin: asked.origin, route: asked.route) {
            if let temporary {
                try await set(Switch(subject, temporary))
            } else {
                try await end(subject, by: context.client.name)
            }
            return try mode()
        }
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

extension Switch {
    /// Creates the mode of an origin or a route.
    fileprivate init(_ subject: Subject, _ temporary: TemporaryMode) {
        self.init(
            subject,
            mode: temporary.value,
            until: temporary.until,
            since: temporary.since,
            reason: temporary.reason,
            client: temporary.client
        )
    }
}
