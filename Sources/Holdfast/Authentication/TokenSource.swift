import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A source of tokens, such as an authorization server, a file or another process.
///
/// ```swift
/// struct RefreshTokens: TokenSource {
///     let client: CachingClient, keychain: Keychain
///     func token(replacing old: AccessToken?) async throws -> AccessToken {
///         do {
///             let response = try await client.fetch(
///                 RefreshEndpoint(keychain.refreshToken), .networkOnly
///             ).value
///             return AccessToken(response.token, expiresAt: response.expiresAt)
///         } catch let error where error.status == .badRequest {
///             throw LoginRequired()
///         } catch {
///             throw error
///         }
///     }
/// }
/// ```
///
/// A source may send requests through the client that it authenticates. These requests are not
/// authenticated.
public protocol TokenSource: Sendable {
    /// Returns a valid token. There is only one call at a time; its token serves all waiting
    /// requests. The call's task is canceled if the call exceeds
    /// ``TokenAuthenticator/Configuration/timeout``, or if the user signs in or out in the
    /// meantime. The next call does not wait for it.
    ///
    /// - Parameter old: the token that is expiring or was rejected; `nil` if there was none.
    /// - Throws: ``LoginRequired`` if no token can be obtained without the user. After any other
    ///   error, the source is called again later. If a `HoldfastError`, `ExchangeError` or
    ///   `TransportError` reports an unreachable network, stored responses may be used. Callers see
    ///   the source's error as the cause of their own error, so it should not contain tokens.
    func token(replacing old: AccessToken?) async throws -> AccessToken
}

/// The error of a ``TokenSource`` that cannot provide a token until the user logs in.
public struct LoginRequired: Error, Sendable, Hashable {
    /// The reason in the application's words. It must not contain a token.
    public var reason: String

    /// Creates the error.
    public init(_ reason: String = "") { self.reason = reason }
}

/// A source that calls a closure for each token.
struct ClosureTokenSource: TokenSource {
    let refresh: @Sendable (AccessToken?) async throws -> AccessToken
    func token(replacing old: AccessToken?) async throws -> AccessToken { try await refresh(old) }
}

extension TokenAuthenticator {
    /// Creates an authenticator for one principal, with a closure as its source. See the other
    /// initializer.
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

extension LoginRequired: LocalizedError {
    /// The reason in the application's words, if there is one.
    public var errorDescription: String? { reason.isEmpty ? failureReason : reason }
    /// The user is not logged in.
    public var failureReason: String? { HoldfastError.Code.loginRequired.words?.reason }
    /// The advice to log in again.
    public var recoverySuggestion: String? { HoldfastError.Code.loginRequired.words?.nextStep }
}
