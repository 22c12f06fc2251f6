import HTTPTypes
import Hummingbird

/// Adds a token endpoint (RFC 6749 §6) and a resource that requires its bearer tokens (RFC 6750).
func addAuthRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.post("/auth/token") { request, _ in
        let query = Query(request)
        let lifetime = AccessTokens.Lifetime(
            seconds: try query.integer("seconds", default: 3_600, in: 0...86_400),
            requests: try query["requests"].map { _ in try query.integer("requests", default: 0, in: 0...1_000_000) }
        )
        let fields = try await BodyFields(request)
        guard let kind = fields["grant_type"], let token = fields["refresh_token"] else {
            return try tokenFailure("invalid_request", "The fields 'grant_type' and 'refresh_token' are needed.")
        }
        guard kind == "refresh_token" else {
            return try tokenFailure("unsupported_grant_type", "The only grant here is 'refresh_token'.")
        }
        let isRotating = query["rotate"] == "true"
        guard let grant = state.tokens.refresh(token, lifetime: lifetime, isRotating: isRotating, now: state.now)
        else { return try tokenFailure("invalid_grant", "This refresh token is unknown, or was replaced by another.") }
        state.ledger.countRefresh()
        return try unstored(
            .json(
                TokenResponse(
                    accessToken: grant.accessToken,
                    expiresIn: lifetime.seconds,
                    refreshToken: isRotating ? grant.refreshToken : nil
                )
            )
        )
    }
    router.get("/auth/me") { request, _ in
        guard let token = bearerToken(request.headers[.authorization]) else {
            return try unauthorized(challenge: "", "Send 'Authorization: Bearer …' with a token of 'POST /auth/token'.")
        }
        guard let principal = state.tokens.use(token, now: state.now) else {
            return try unauthorized(challenge: ", error=\"invalid_token\"", "This access token is not valid any more.")
        }
        let me = Me(principal: principal.userID, token: principal.number)
        return try Response.representation(json: me, cacheControl: "private, \(state.defaultCacheControl)")
    }
}

private struct Me: Encodable {
    let principal: String
    let token: Int
}

private struct TokenResponse: Encodable {
    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case tokenType = "token_type"
        case expiresIn = "expires_in"
        case refreshToken = "refresh_token"
    }

    let accessToken: String
    let tokenType = "Bearer"
    let expiresIn: Int
    /// The new refresh token; present only if it has changed.
    let refreshToken: String?
}

/// The error response of a token endpoint: RFC 6749 §5.2.
private struct TokenFailure: Encodable {
    enum CodingKeys: String, CodingKey {
        case error
        case description = "error_description"
    }

    let error: String
    let description: String
}

private func tokenFailure(_ error: String, _ description: String) throws -> Response {
    try unstored(.json(TokenFailure(error: error, description: description), status: .badRequest))
}

private func unauthorized(challenge: String, _ message: String) throws -> Response {
    var response = try unstored(.json(ErrorBody(code: "unauthorized", message: message), status: .unauthorized))
    response.headers[.wwwAuthenticate] = "Bearer realm=\"sample-origin\"" + challenge
    return response
}

private func unstored(_ response: Response) -> Response {
    var response = response
    response.headers[.cacheControl] = "no-store"
    return response
}

private func bearerToken(_ field: String?) -> String? {
    guard let field, field.lowercased().hasPrefix("bearer ") else { return nil }
    return String(field.dropFirst(7)).trimmed
}
