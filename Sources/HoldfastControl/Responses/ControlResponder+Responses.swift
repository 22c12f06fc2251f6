import HTTPCache
import HTTPCacheSemantics
import Hummingbird

extension ControlResponder {
    /// The operations on stored responses.
    static let responses: [Operation] = [
        Operation(path: "/v1/responses", method: .get, scope: .read) { try await $0.responses($1, $2) },
        Operation(path: "/v1/responses/{id}", method: .get, scope: .read) { try await $0.response($1, $2) },
    ]

    private static let defaultPage: Int64 = 100
    private static let largestPage: Int64 = 1000

    /// `GET /v1/responses`
    private func responses(_ request: Request, _ context: ControlContext) async throws -> Response {
        var members = try QueryMembers(request)
        var query = try Self.query(&members, by: context.client)
        query.state = try members.text("state").map(Self.state)
        try members.end(known: ["after", "limit", "prefix", "state", "tag"])
        return try Self.response(.ok, ResponsesReport(try await reading { try await operations.responses(query) }))
    }

    /// The parameters that all listings have: `limit`, `after`, `prefix` and `tag`.
    ///
    /// - Throws: ``ControlProblem``
    static func query(_ members: inout QueryMembers, by client: ControlClient) throws -> ResponseQuery {
        var query = ResponseQuery(limit: 0)
        query.limit = Int(try members.number("limit", 1...largestPage) ?? defaultPage)
        query.after = try members.number("after", 0...Int64.max) ?? 0
        query.prefix = try members.text("prefix").map { try prefix($0, by: client) }
        query.showsQueries = showsQueries(to: client)
        query.tag = members.text("tag")
        return query
    }

    /// `GET /v1/responses/{id}`
    private func response(_ request: Request, _ context: ControlContext) async throws -> Response {
        let id = String(request.uri.path.split(separator: "/").last ?? "")
        guard id.utf8.count == 16, UInt64(id, radix: 16) != nil else {
            throw ControlProblem(
                .invalidRequest,
                "The id is '\(ControlProblem.shown(id))', and 16 hexadecimal digits are expected, as 'GET /v1/responses' and 'cache-dump list' show them.",
                field: "id",
                value: id
            )
        }
        let found = try await reading {
            try await operations.responses(withID: id, showingQueries: Self.showsQueries(to: context.client))
        }
        guard !found.isEmpty else {
            throw ControlProblem(.notFound, "No stored response has the id '\(id)'.", field: "id", value: id)
        }
        return try Self.response(.ok, VariantsReport(found))
    }

    /// Reads from the store.
    ///
    /// - Throws: ``ControlProblem``
    func reading<Result>(_ read: () async throws -> Result) async throws -> Result {
        do {
            return try await read()
        } catch {
            throw ControlProblem(.storeFailed, "The store cannot be read: \(error)")
        }
    }

    private static func showsQueries(to client: ControlClient) -> Bool { client.scope >= .operate }

    private static func prefix(_ text: String, by client: ControlClient) throws -> TargetPrefix {
        // Who may not see a query must not find it out byte by byte.
        guard showsQueries(to: client) || !text.contains("?") else {
            throw ControlProblem(
                .scopeTooSmall,
                "'prefix' has a query, and the scope of the token '\(client.name)' is '\(client.scope.rawValue)'. "
                    + "Leave the query out, or use a token with the scope 'operate'.",
                field: "prefix"
            )
        }
        do {
            return try TargetPrefix(text)
        } catch {
            let value = Redaction.uriText(text, limit: 200)
            throw ControlProblem(.invalidRequest, "'prefix': \(error)", field: "prefix", value: value)
        }
    }

    private static func state(_ text: String) throws -> EntryState {
        if let state = EntryState(rawValue: text) { return state }
        let known = EntryState.allCases.map(\.rawValue).joined(separator: ", ")
        throw ControlProblem(
            .invalidRequest,
            "'state' is '\(ControlProblem.shown(text))', and one of \(known) is expected.",
            field: "state",
            value: text
        )
    }
}
