import HTTPTypes
import Hummingbird

/// Adds the feed as REST.
func addMomentsRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/moments") { request, _ in
        let query = Query(request)
        guard let userID = query["userID"] else {
            throw OriginHTTPError.badRequest("Parameter 'userID' is missing. Users: \(knownUsers).")
        }
        let page = try query.integer("page", default: 1, in: 1...1_000)
        guard let feed = state.feed.page(page, of: userID) else { throw unknownUser(userID) }
        var response = try Response.representation(json: feed.details, cacheControl: state.defaultCacheControl)
        response.headers[.lastModified] = HTTPDate.string(secondsSince1970: feed.modified)
        return response
    }
    router.get("/moments/{id}") { _, context in
        let id = try context.parameters.require("id")
        guard let moment = state.feed.moment(id) else { throw unknownMoment(id) }
        return try Response.representation(json: moment, cacheControl: state.defaultCacheControl)
    }
    router.get("/users/{id}") { _, context in
        let id = try context.parameters.require("id")
        guard let user = MomentsFeed.user(id) else { throw unknownUser(id) }
        return try Response.representation(json: user, cacheControl: state.defaultCacheControl)
    }
    router.post("/moments/{id}/likes") { _, context in
        try change(context) { state.feed.like($0, by: 1) }
    }
    router.delete("/moments/{id}/likes") { _, context in
        try change(context) { state.feed.like($0, by: -1) }
    }
    // Sets a state instead of a count, so that the request is idempotent (RFC 9110 §9.2.2).
    for method: HTTPRequest.Method in [.put, .post] {
        router.on("/moments/{id}/like", method: method) { _, context in
            try change(context) { state.feed.setLiked($0, true) }
        }
    }
    router.delete("/moments/{id}/like") { _, context in
        try change(context) { state.feed.setLiked($0, false) }
    }
}

private func change(_ context: OriginContext, by update: (String) -> Moment?) throws -> Response {
    let id = try context.parameters.require("id")
    guard let moment = update(id) else { throw unknownMoment(id) }
    var response = try Response.json(moment)
    response.headers[.cacheControl] = "no-store"
    // Names the other target that changed, so that caches invalidate it too (RFC 9111 §4.4).
    response.headers[.contentLocation] = "/moments/\(id)"
    return response
}

private var knownUsers: String { MomentsFeed.users.map { "'\($0.id)'" }.joined(separator: ", ") }

private func unknownUser(_ id: String) -> OriginHTTPError {
    OriginHTTPError(.notFound, code: "unknown-user", message: "There is no user '\(id)'. Users: \(knownUsers).")
}

private func unknownMoment(_ id: String) -> OriginHTTPError {
    OriginHTTPError(
        .notFound,
        code: "unknown-moment",
        message: "There is no moment '\(id)'. They are named like 'harbour-7', from 1 to \(MomentsFeed.momentsPerUser)."
    )
}
