package import HTTPCacheSemantics
package import NIOCore
import Synchronization

/// Identifies clients by their tokens, and counts wrong tokens per client network.
package final class TokenVerifier: Sendable {
    private let tokens: Mutex<TokenTable>
    private let tries = Mutex(FailedTries())
    private let now: @Sendable () -> NIODeadline

    /// Creates a verifier for the given tokens.
    ///
    /// - Parameter now: the monotonic clock for counting failed attempts.
    /// - Throws: `InvalidSetting` if there is no token, or if two tokens have the same secret. The
    ///   history could not show which of them was used.
    package init(
        _ tokens: [ControlToken],
        now: @escaping @Sendable () -> NIODeadline = { .now() }
    ) throws(InvalidSetting) {
        self.tokens = Mutex(try Self.table(tokens))
        self.now = now
    }

    private static func table(_ tokens: [ControlToken]) throws(InvalidSetting) -> TokenTable {
        guard !tokens.isEmpty else {
            throw InvalidSetting("No token is configured. Set 'control.tokens'.")
        }
        for (index, token) in tokens.enumerated() {
            guard let twin = tokens[..<index].first(where: { $0.digest == token.digest }) else { continue }
            throw InvalidSetting(
                "The tokens '\(twin.name)' and '\(token.name)' of 'control.tokens' are the same. Create another token with 'openssl rand -hex 32'."
            )
        }
        return TokenTable(tokens)
    }

    /// Replaces the tokens, after their files changed.
    ///
    /// - Throws: `InvalidSetting`, as ``init(_:now:)``. The tokens stay as they were.
    package func replace(_ tokens: [ControlToken]) throws(InvalidSetting) {
        let table = try Self.table(tokens)
        self.tokens.withLock { $0 = table }
    }

    /// Creates a verifier that accepts only session tokens.
    init(ofSessions now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        tokens = Mutex(TokenTable([]))
        self.now = now
    }

    /// Thrown for a wrong token after too many failed attempts.
    struct Wait: Error {
        /// The seconds until the client's network has fewer than ``FailedTries/limit`` failed
        /// attempts within a minute.
        let seconds: Int

        var problem: ControlProblem {
            ControlProblem(
                .tooManyFailedTries,
                "The token is wrong, after \(FailedTries.limit) failed tries from the same network within a minute. Send a token from 'control.tokens', which is accepted immediately, or use the Unix socket.",
                limit: FailedTries.limit
            )
        }
    }

    /// Returns the client that presents a token.
    ///
    /// A valid token is accepted regardless of earlier attempts. A request without a token does not
    /// count as a failed attempt, because a page has no token at first.
    ///
    /// - Parameters:
    ///   - credentials: the values of the request's `Authorization` fields.
    ///   - address: the client's IP address.
    ///   - sessions: the sessions of pages, whose tokens are also valid.
    /// - Throws: ``ControlProblem`` unless there is exactly one valid token; ``Wait`` if the
    ///   client's network has presented too many wrong tokens.
    func client(
        presenting credentials: [String],
        from address: String,
        or sessions: PageSessions? = nil
    ) throws -> ControlClient {
        guard !credentials.isEmpty else { throw Self.unauthorized }
        if let client = owner(of: credentials, or: sessions) { return client }
        // Check and record in one atomic step. Otherwise, thirty concurrent connections could make
        // thirty attempts instead of five.
        let seconds = tries.withLock { tries in
            let now = now()
            let seconds = tries.wait(of: address, at: now)
            if seconds == nil { tries.record(address, at: now) }
            return seconds
        }
        if let seconds { throw Wait(seconds: seconds) }
        throw Self.unauthorized
    }

    /// Returns the client whose token a request presents, or `nil` if the token is not valid.
    private func owner(of credentials: [String], or sessions: PageSessions?) -> ControlClient? {
        guard let text = Self.bearer(in: credentials) else { return nil }
        if let token = tokens.withLock({ $0 }).token(presented: text) {
            return ControlClient(name: token.name, scope: token.scope)
        }
        return sessions?.client(presenting: text)
    }

    /// Returns whether credentials are valid, without counting a wrong token as a failed attempt.
    func knows(_ credentials: [String], or sessions: PageSessions? = nil) -> Bool {
        owner(of: credentials, or: sessions) != nil
    }

    /// Returns the name of a client that may purge, or `nil` for other clients. A wrong token
    /// counts as a failed attempt.
    package func purger(presenting credentials: [String], from address: String) -> String? {
        guard let client = try? client(presenting: credentials, from: address), client.scope >= .purge else {
            return nil
        }
        return client.name
    }

    /// The error for a missing token and for a wrong token.
    private static let unauthorized = ControlProblem(
        .unauthorized,
        "A valid token is required. Send 'Authorization: Bearer TOKEN' once, with a token of 'control.tokens' or of a page's session, or with that of 'metrics.token' on its port.",
        field: "Authorization"
    )

    /// Returns the token that a request presents, or `nil` unless there is exactly one.
    static func bearer(in credentials: [String]) -> String? {
        guard credentials.count == 1 else { return nil }
        let parts = credentials[0].split(separator: " ", maxSplits: 1)
        // Text that is longer than any token is not worth hashing.
        guard parts.count == 2, parts[0].lowercased() == "bearer", parts[1].utf8.count <= ControlToken.maximumText
        else { return nil }
        return String(parts[1])
    }
}
