/// Where tokens come from: an authorization server, a file, another process.
///
/// ```swift
/// struct RefreshTokens: TokenSource {
///     let client: CachingClient, keychain: Keychain
///     func token(replacing old: AccessToken?) async throws -> AccessToken {
///         do {
///             let answer = try await client.fetch(RefreshEndpoint(keychain.refreshToken), .networkOnly).value
///             return AccessToken(answer.token, expiresAt: answer.expiresAt)
///         } catch let error as HoldfastError where error.status == .badRequest {
///             throw LoginRequired()
///         }
///     }
/// }
/// ```
///
/// It may ask through the client that it authenticates: what it asks for itself is not
/// authenticated.
public protocol TokenSource: Sendable {
    /// A token that is taken. Asked once at a time, for all requests that wait.
    ///
    /// - Parameter old: the one that expires or was refused; `nil` where there was none.
    /// - Throws: ``LoginRequired`` where no token is to be had any more without the user; whatever
    ///   went wrong otherwise, in which case it is asked again later. ``HoldfastError``,
    ///   `ExchangeError` and `TransportError` tell whether the network was away, so that what is
    ///   stored may answer. Its errors become causes of errors that the caller sees: they should
    ///   hold no tokens.
    func token(replacing old: AccessToken?) async throws -> AccessToken
}

/// A ``TokenSource`` has no token to give, and will have none before the user has logged in.
public struct LoginRequired: Error, Sendable, Hashable {
    /// What it was told, in the application's words. It holds no token.
    public var reason: String

    /// A refusal.
    public init(_ reason: String = "") { self.reason = reason }
}

/// Tokens from a closure.
struct ClosureTokenSource: TokenSource {
    let refresh: @Sendable (AccessToken?) async throws -> AccessToken
    func token(replacing old: AccessToken?) async throws -> AccessToken { try await refresh(old) }
}

extension Authenticator {
    /// An authenticator of one principal, whose tokens come from a closure; see the other
    /// initialiser.
    ///
    /// - Parameter refresh: see ``TokenSource/token(replacing:)``.
    public convenience init(
        token: AccessToken? = nil,
        principal: String,
        configuration: Configuration = Configuration(),
        _ refresh: @escaping @Sendable (AccessToken?) async throws -> AccessToken
    ) throws {
        try self.init(
            ClosureTokenSource(refresh: refresh),
            token: token,
            principal: principal,
            configuration: configuration
        )
    }
}
