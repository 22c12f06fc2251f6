import HTTPTypes
import Hummingbird

/// The user whose feed is in the envelopes.
private let userID = "harbour"

/// Adds `/envelope/{kind}`: responses with status 200 whose body states success or failure:
/// `{"code":0,"msg":"ok","data":…}`.
func addEnvelopeRoutes(to router: Router<OriginContext>, state: OriginState) {
    for method: HTTPRequest.Method in [.get, .post] {
        router.on("/envelope/{kind}", method: method) { request, context in
            let kind = try context.parameters.require("kind")
            let query = Query(request)
            let fields = try await BodyFields(request)
            guard let envelope = try envelope(kind, query: query, fields: fields, feed: state.feed) else {
                throw OriginHTTPError(
                    .notFound,
                    code: "unknown-envelope",
                    message: "There is no envelope '\(kind)'. 'sample-origin --help' lists them."
                )
            }
            let isSuccess = !["failure", "nested-failure", "bare"].contains(kind)
            return try Response.representation(
                json: envelope,
                cacheControl: isSuccess ? state.defaultCacheControl : "no-store"
            )
        }
    }
}

private func envelope(_ kind: String, query: Query, fields: BodyFields, feed: MomentsFeed) throws -> Document? {
    let success = try code(query, default: "0")
    let failure = try code(query, default: "1001")
    let message = query["msg"]
    let moments = feed.page(1, of: userID)?.details.moments ?? []
    func plain(_ data: Document) -> Document {
        .object(["code": success, "msg": .string(message ?? "ok"), "data": data])
    }
    switch kind {
    case "object": return plain(moments.first.map(Document.value) ?? .null)
    case "array": return plain(.value(moments))
    case "null": return plain(.null)
    case "none": return .object(["code": success, "msg": .string(message ?? "ok")])
    // IDs that a double cannot represent exactly, as a number and as text.
    case "ids": return plain(.object(["id": .integer(.max), "parentID": .string("\(Int.max - 1)")]))
    case "list": return plain(try list(query: query, fields: fields, feed: feed))
    case "failure":
        return .object(["code": failure, "msg": .string(message ?? "The moments are closed."), "data": .null])
    // Has neither a message nor data, so the client must have defaults, or show nothing.
    case "bare": return .object(["code": failure])
    case "nested":
        let error: Document = .object(["errCode": success, "errMsg": .string(message ?? "ok")])
        return .object(["error": error, "result": .object(["items": .value(moments)])])
    case "nested-failure":
        let text = message ?? "The moments are closed."
        return .object(["error": .object(["errCode": failure, "errMsg": .string(text)]), "result": .null])
    default: return nil
    }
}

/// Returns the page that the body requests or, if it requests none, the query.
private func list(query: Query, fields: BodyFields, feed: MomentsFeed) throws -> Document {
    let text = fields["page"] ?? query["page"] ?? "1"
    guard let number = Int(text), (1...1_000).contains(number), let page = feed.page(number, of: userID) else {
        throw OriginHTTPError.badRequest("'page' must be a whole number from 1 to 1000.")
    }
    return .object([
        "page": .integer(number), "pageCount": .integer(page.details.pageCount),
        "list": .value(page.details.moments),
    ])
}

/// Returns the code in the requested JSON type. Servers use different types, and clients must
/// support all of them.
private func code(_ query: Query, default standard: String) throws -> Document {
    let text = query["code"] ?? standard
    switch query["as"] ?? "number" {
    case "number":
        guard let number = Int(text) else {
            throw OriginHTTPError.badRequest("Parameter 'code' must be a whole number, or 'as' be 'string'.")
        }
        return .integer(number)
    case "string": return .string(text)
    // For numbers, 0 means success; for Booleans, `true` does.
    case "bool": return .bool(text == "0" || text == "true")
    default: throw OriginHTTPError.badRequest("Parameter 'as' must be 'number', 'string' or 'bool'.")
    }
}
