import HTTPTypes
import Hummingbird

/// The maximum size of a GraphQL request, in bytes: far more than any query here needs.
private let maximumRequestBytes = 1 << 20

/// Adds the feed as GraphQL: all operations over POST, and queries, including persisted queries,
/// over GET.
///
/// A request that cannot be parsed gets 400. Every other request gets 200, with `errors` if a field
/// failed.
func addGraphQLRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.post("/graphql") { request, _ in
        let body = try await request.body.collect(upTo: maximumRequestBytes)
        guard let graphQL = try? GraphQLRequest(body: body) else {
            return try rejected("The body must be a JSON object: 'query', and perhaps 'variables', 'operationName'.")
        }
        return try run(graphQL, method: .post, state: state)
    }
    router.get("/graphql") { request, _ in
        guard let graphQL = try? GraphQLRequest(Query(request)) else {
            return try rejected("The parameters 'variables' and 'extensions' must be JSON objects.")
        }
        return try run(graphQL, method: .get, state: state)
    }
}

private func run(_ request: GraphQLRequest, method: HTTPRequest.Method, state: OriginState) throws -> Response {
    let persisted = request.extensions?.persistedQuery
    if let persisted, persisted.version != 1 {
        return try rejected("Persisted queries of version \(persisted.version) are unknown; the version is 1.")
    }
    let text: String
    switch state.persistedQueries.lookUp(query: request.query, hash: persisted?.sha256Hash) {
    case .text(let found): text = found
    case .notFound: return try unregistered()
    case .mismatch: return try rejected("The hash in 'extensions' is not the SHA-256 of the query.")
    case .missing: return try rejected("There is neither a 'query' nor the hash of a persisted one.")
    }
    do {
        let operation = try GraphQLDocument(text).operation(named: request.operationName)
        guard method == .post || operation.kind == .query else {
            var response = try rejected("A \(operation.kind.rawValue) must be sent by POST.")
            response.status = .methodNotAllowed
            response.headers[.allow] = "POST"
            return response
        }
        return try execute(operation, of: request, state: state)
    } catch let error as GraphQLSyntaxError {
        return try rejected("The query cannot be read: \(error.message).")
    }
}

private func execute(
    _ operation: GraphQLDocument.Operation,
    of request: GraphQLRequest,
    state: OriginState
) throws -> Response {
    var data: [String: GraphQLResponse.Value?] = [:]
    var errors: [GraphQLResponse.Failure] = []
    for field in operation.fields {
        do {
            data[field.responseKey] = .some(try resolve(field, kind: operation.kind, of: request, feed: state.feed))
        } catch {
            data[field.responseKey] = .some(nil)
            errors.append(GraphQLResponse.Failure(error.message, path: [field.responseKey], code: error.code))
        }
    }
    let result = GraphQLResponse(data: data, errors: errors.isEmpty ? nil : errors)
    // Only explicit freshness makes a response to POST storable, for caches that support it (RFC
    // 9110 §9.3.3).
    let isCacheable = operation.kind == .query && errors.isEmpty
    return try Response.representation(json: result, cacheControl: isCacheable ? state.defaultCacheControl : "no-store")
}

private func resolve(
    _ field: GraphQLDocument.Field,
    kind: GraphQLDocument.OperationKind,
    of request: GraphQLRequest,
    feed: MomentsFeed
) throws(FieldError) -> GraphQLResponse.Value {
    switch (kind, field.name) {
    case (.query, "getMomentsDetailsByUserID"):
        let id = try argument("userID", of: field, in: request)
        let page = request.text(field.arguments["page"]).flatMap { Int($0) } ?? 1
        guard (1...1_000).contains(page) else {
            throw FieldError("Argument 'page' must be from 1 to 1000.", "BAD_INPUT")
        }
        guard let found = feed.page(page, of: id) else { throw FieldError("There is no user '\(id)'.", "NOT_FOUND") }
        return .details(found.details)
    case (.mutation, "likeMoment"), (.mutation, "unlikeMoment"):
        let id = try argument("momentID", of: field, in: request)
        guard let moment = feed.like(id, by: field.name == "likeMoment" ? 1 : -1) else {
            throw FieldError("There is no moment '\(id)'.", "NOT_FOUND")
        }
        return .moment(moment)
    case (.mutation, "updateMomentLike"):
        let id = try argument("momentID", of: field, in: request)
        guard let isLiked = request.truth(field.arguments["isLiked"]) else {
            throw FieldError("Argument 'isLiked' of 'updateMomentLike' must be true or false.", "BAD_INPUT")
        }
        guard let moment = feed.setLiked(id, isLiked) else {
            throw FieldError("There is no moment '\(id)'.", "NOT_FOUND")
        }
        return .moment(moment)
    default:
        throw FieldError(
            "This origin knows the query 'getMomentsDetailsByUserID' and the mutations 'likeMoment', "
                + "'unlikeMoment' and 'updateMomentLike', not the \(kind.rawValue) '\(field.name)'.",
            "UNKNOWN_OPERATION"
        )
    }
}

private struct FieldError: Error {
    let message: String
    let code: String

    init(_ message: String, _ code: String) {
        self.message = message
        self.code = code
    }
}

private func argument(
    _ name: String,
    of field: GraphQLDocument.Field,
    in request: GraphQLRequest
) throws(FieldError) -> String {
    guard let text = request.text(field.arguments[name]) else {
        throw FieldError("Argument '\(name)' of '\(field.name)' is missing, or its variable is.", "BAD_INPUT")
    }
    return text
}

private func rejected(_ message: String) throws -> Response {
    let failure = GraphQLResponse.Failure(message, code: "BAD_REQUEST")
    return try Response.json(GraphQLResponse(errors: [failure]), status: .badRequest)
}

/// Returns the response that tells a client to send the text of a persisted query. It must not be
/// stored, because after that the same request gets a different response.
private func unregistered() throws -> Response {
    let failure = GraphQLResponse.Failure("PersistedQueryNotFound", code: "PERSISTED_QUERY_NOT_FOUND")
    var response = try Response.json(GraphQLResponse(errors: [failure]))
    response.headers[.cacheControl] = "no-store"
    return response
}
