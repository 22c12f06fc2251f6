public import NIOCore
import Synchronization

/// Identifies clients by their tokens, and counts wrong tokens per address.
public final class TokenVerifier: Sendable {
    private let tokens: TokenTable
    private let tries = Mutex(FailedTries())
    private let now: @Sendable () -> NIODeadline

    /// - Parameter now: the monotonic clock for failed attempts.
    /// - Throws: ``ControlToken/Refusal`` if there is no token, or if two tokens are the same
    ///   secret. The history could not say which of the two was used.
    public init(
        _ tokens: [ControlToken],
        now: @escaping @Sendable () -> NIODeadline = { .now() }
    ) throws(ControlToken.Refusal) {
        guard !tokens.isEmpty else {
            throw ControlToken.Refusal(description: "No token is configured. Set 'control.tokens'.")
        }
        for (index, token) in tokens.enumerated() {
            guard let twin = tokens[..<index].first(where: { $0.digest == token.digest }) else { continue }
            throw ControlToken.Refusal(
                description:
                    "The tokens '\(twin.name)' and '\(token.name)' of 'control.tokens' are the same. Create another one with 'openssl rand -hex 32'."
            )
        }
        self.tokens = TokenTable(tokens)
        self.now = now
    }

    /// Creates a verifier without tokens of its own. Only session tokens are accepted.
    init(ofSessions now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        tokens = TokenTable([])
        self.now = now
    }

    /// There were too many failed attempts, and this is another one.
    struct Wait: Error {
        /// The seconds until the address has at most ``FailedTries/limit`` within a minute.
        let seconds: Int

        var problem: ControlProblem {
            ControlProblem(
                .tooManyFailedTries,
                "The token is wrong, and so were \(FailedTries.limit) others from this address within a minute. Send a token of 'control.tokens', which is accepted immediately, or use the Unix socket.",
                limit: FailedTries.limit
            )
        }
    }

    /// The client that presents a token.
    ///
    /// A valid token is accepted regardless of earlier attempts. A request without a token is not
    /// counted, because a page has none at first.
    ///
    /// - Parameters:
    ///   - credentials: the values of the request's `Authorization` fields.
    ///   - address: the client's IP address.
    ///   - sessions: the sessions of pages, whose tokens are also valid.
    /// - Throws: ``ControlProblem`` if there is not exactly one valid token; ``Wait`` if the
    ///   address has presented too many wrong ones.
    func client(
        presenting credentials: [String],
        from address: String,
        or sessions: PageSessions? = nil
    ) throws -> ControlClient {
        guard !credentials.isEmpty else { throw Self.unauthorized }
        if let client = owner(of: credentials, or: sessions) { return client }
        // One atomic step: thirty connections share five attempts instead of getting thirty.
        let seconds = tries.withLock { tries in
            let now = now()
            let seconds = tries.wait(of: address, at: now)
            if seconds == nil { tries.record(address, at: now) }
            return seconds
        }
        if let seconds { throw Wait(seconds: seconds) }
        throw Self.unauthorized
    }

    /// The client whose token a request presents.
    private func owner(of credentials: [String], or sessions: PageSessions?) -> ControlClient? {
        guard let text = Self.bearer(in: credentials) else { return nil }
        if let token = tokens.token(presented: text) { return ControlClient(name: token.name, scope: token.scope) }
        return sessions?.client(presenting: text)
    }

    /// Whether credentials are valid. A wrong token is not counted as a failed attempt, because it
    /// was valid before.
    func knows(_ credentials: [String], or sessions: PageSessions) -> Bool {
        owner(of: credentials, or: sessions) != nil
    }

    /// The name of a client that may purge; `nil` for other clients.
    public func purger(presenting credentials: [String], from address: String) -> String? {
        guard let client = try? client(presenting: credentials, from: address), client.scope >= .purge else {
            return nil
        }
        return client.name
    }

    /// A missing token and a wrong token get the same error.
    private static let unauthorized = ControlProblem(
        .unauthorized,
        "A token is required. Send 'Authorization: Bearer TOKEN' once, with a token of 'control.tokens'.",
        field: "Authorization"
    )

    /// The token that a request presents; `nil` unless there is exactly one.
    static func bearer(in credentials: [String]) -> String? {
        guard credentials.count == 1 else { return nil }
        let parts = credentials[0].split(separator: " ", maxSplits: 1)
        // A text longer than any token needs no digest.
        guard parts.count == 2, parts[0].lowercased() == "bearer", parts[1].utf8.count <= ControlToken.maximumText
        else { return nil }
        return String(parts[1])
    }
}
