import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Hummingbird

extension ControlResponder {
    /// The operations on stored responses.
    static let responses: [Operation] = [
        Operation(path: "/v1/responses", method: .get, scope: .read) { try await $0.responses($1, $2) },
        Operation(path: "/v1/responses/{id}", method: .get, scope: .read) { try await $0.response($1, $2) },
        Operation(path: "/v1/responses/{id}/comparison", method: .post, scope: .operate) {
            try await $0.compare($1, $2)
        },
    ]

    private static let defaultPage: Int64 = 100
    private static let largestPage: Int64 = 1000

    /// Handles `GET /v1/responses`.
    private func responses(_ request: Request, _ context: ControlContext) async throws -> Response {
        var members = try QueryMembers(request)
        var query = try Self.query(&members, by: context.client)
        query.state = try members.text("state").map(Self.state)
        if let host = members.text("host") { (query.host, query.port) = try Self.host(host) }
        query.isPinned = try members.text("pinned").map(Self.flag)
        query.order = try members.text("order").map(Self.order) ?? query.order
        try members.end(known: ["after", "host", "limit", "order", "pinned", "prefix", "state", "tag"])
        let selection = query
        return try Self.response(.ok, ResponsesReport(try await reading { try await operations.responses(selection) }))
    }

    /// Parses a host with an optional port.
    private static func host(_ text: String) throws -> (TargetHost, UInt16?) {
        do {
            // A colon inside the brackets of an IPv6 address does not begin a port.
            guard let colon = text.lastIndex(of: ":"), !text.hasSuffix(":"),
                !text[colon...].contains("]")
            else {
                return (try TargetHost(text), nil)
            }
            return (try TargetHost(String(text[..<colon])), try TargetURI("http://\(text)/").port)
        } catch {
            throw ControlProblem(.invalidRequest, "'host': \(error)", field: "host", value: text)
        }
    }

    private static func flag(_ text: String) throws -> Bool {
        if let flag = Bool(text) { return flag }
        throw ControlProblem(
            .invalidRequest,
            "'pinned' must be true or false, not '\(ControlProblem.shown(text))'.",
            field: "pinned",
            value: text
        )
    }

    private static func order(_ text: String) throws -> ResponseOrder {
        if let order = ResponseOrder(text) { return order }
        throw ControlProblem(
            .invalidRequest,
            "'order' must be one of \(ResponseOrder.names.joined(separator: ", ")), not '\(ControlProblem.shown(text))'.",
            field: "order",
            value: text
        )
    }

    private static func cursor(_ text: String) throws -> ResponseCursor {
        if let cursor = ResponseCursor(text), cursor.values.count > 1 || cursor.values[0] >= 0 { return cursor }
        throw ControlProblem(
            .invalidRequest,
            "'after' must be the 'next' of the previous page, not '\(ControlProblem.shown(text))'.",
            field: "after",
            value: text
        )
    }

    /// Reads the parameters of every listing: `limit`, `after`, `prefix` and `tag`.
    ///
    /// - Throws: ``ControlProblem``
    static func query(_ members: inout QueryMembers, by client: ControlClient) throws -> ResponseQuery {
        var query = ResponseQuery(limit: 0)
        query.limit = Int(try members.number("limit", 1...largestPage) ?? defaultPage)
        query.after = try members.text("after").map(cursor)
        query.prefix = try members.text("prefix").map { try prefix($0, by: client) }
        query.showsQueries = client.seesQueries
        query.tag = members.text("tag")
        return query
    }

    /// Handles `GET /v1/responses/{id}`.
    private func response(_ request: Request, _ context: ControlContext) async throws -> Response {
        let id = try Self.id(request)
        let found = try await reading {
            try await operations.responses(withID: id, showingQueries: context.client.seesQueries)
        }
        guard !found.isEmpty else { throw Self.unknown(id) }
        return try Self.response(.ok, VariantsReport(found))
    }

    /// Handles `POST /v1/responses/{id}/comparison`, which sends a request to the origin.
    private func compare(_ request: Request, _ context: ControlContext) async throws -> Response {
        let id = try Self.id(request)
        var members = try JSONMembers(json: try await Self.content(of: request), example: #"{"entry": 17}"#)
        let entry = try members.number("entry", 1...Int(Int32.max) << 20)
        try members.end(known: ["entry"])
        guard let entry else {
            throw ControlProblem(
                .invalidRequest,
                "'entry' is missing. Use the 'entry' of a variant in 'GET /v1/responses/\(id)'.",
                field: "entry"
            )
        }
        do {
            return try Self.response(.ok, try await operations.compare(Int64(entry), withID: id))
        } catch let reason as ResponseComparison.NotComparable {
            throw Self.problem(reason, id)
        } catch let error as ExchangeError {
            throw ControlProblem(.originNotAsked, "The response could not be fetched from the origin: \(error.message)")
        } catch {
            throw ControlProblem(.storeFailed, "The comparison failed: \(error)")
        }
    }

    private static func problem(_ reason: ResponseComparison.NotComparable, _ id: String) -> ControlProblem {
        switch reason {
        case .unknown: unknown(id)
        case .ofPrincipal:
            ControlProblem(.notComparable, "The response belongs to one principal, whose credentials are not stored.")
        case .otherMethod: ControlProblem(.notComparable, "Only responses to GET requests can be compared.")
        }
    }

    private static func unknown(_ id: String) -> ControlProblem {
        ControlProblem(.notFound, "No stored response has the id '\(id)'.", field: "id", value: id)
    }

    private static func id(_ request: Request) throws(ControlProblem) -> String {
        let parts = request.uri.path.split(separator: "/")
        let id = parts.count > 2 ? String(parts[2]) : ""
        guard id.utf8.count == 16, UInt64(id, radix: 16) != nil else {
            throw ControlProblem(
                .invalidRequest,
                "The id must be 16 hexadecimal digits, as 'GET /v1/responses' shows them, not '\(ControlProblem.shown(id))'.",
                field: "id",
                value: id
            )
        }
        return id
    }

    /// Reads from the store, and converts errors to problems.
    ///
    /// - Throws: ``ControlProblem``
    func reading<Result>(_ read: () async throws -> Result) async throws -> Result {
        do {
            return try await read()
        } catch let invalid as ResponseCursor.Invalid {
            throw ControlProblem(.invalidRequest, "'after': \(invalid) Start with the first page.", field: "after")
        } catch {
            throw ControlProblem(.storeFailed, "The store cannot be read: \(error)")
        }
    }

    private static func prefix(_ text: String, by client: ControlClient) throws -> TargetPrefix {
        try client.checkMayName(text, in: "prefix")
        do {
            return TargetPrefix(try TargetURI.readings(of: text)[0])
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
            "'state' must be one of \(known), not '\(ControlProblem.shown(text))'.",
            field: "state",
            value: text
        )
    }
}
