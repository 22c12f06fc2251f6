public import NIOCore
import Synchronization

/// Tells clients by their tokens, and counts the wrong ones of each address.
public final class TokenVerifier: Sendable {
    private let tokens: TokenTable
    private let tries = Mutex(FailedTries())
    private let now: @Sendable () -> NIODeadline

    /// - Parameter now: the monotonic clock for failed tries.
    /// - Throws: ``ControlToken/Refusal`` if there is no token, or if two are the same secret: the
    ///   history could not say which of them was used.
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

    /// A verifier that knows no token of its own: only sessions open it.
    init(ofSessions now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        tokens = TokenTable([])
        self.now = now
    }

    /// There were too many failed tries, and this is another one.
    struct Wait: Error {
        /// When the address has no more than ``FailedTries/limit`` in a minute.
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
    /// A right token is accepted whatever the tries before it. A request without a token is not
    /// counted: a page has none.
    ///
    /// - Parameters:
    ///   - credentials: the values of the request's `Authorization` fields.
    ///   - address: the client's IP address.
    ///   - sessions: those of pages, whose tokens are right too.
    /// - Throws: ``ControlProblem`` if there is not one right token; ``Wait`` if its address has
    ///   presented too many wrong ones.
    func client(
        presenting credentials: [String],
        from address: String,
        or sessions: PageSessions? = nil
    ) throws -> ControlClient {
        guard !credentials.isEmpty else { throw Self.unauthorized }
        if let client = owner(of: credentials, or: sessions) { return client }
        // Judged and counted as one step: thirty connections have five tries, not thirty.
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

    /// Whether credentials are right. A wrong one is no failed try: it was right before.
    func knows(_ credentials: [String], or sessions: PageSessions) -> Bool {
        owner(of: credentials, or: sessions) != nil
    }

    /// The name of a client that may purge; `nil` for every other one.
    public func purger(presenting credentials: [String], from address: String) -> String? {
        guard let client = try? client(presenting: credentials, from: address), client.scope >= .purge else {
            return nil
        }
        return client.name
    }

    /// The same for a missing token and a wrong one.
    private static let unauthorized = ControlProblem(
        .unauthorized,
        "A token is required. Send 'Authorization: Bearer TOKEN' once, with a token of 'control.tokens'.",
        field: "Authorization"
    )

    /// The token that a request presents, once.
    static func bearer(in credentials: [String]) -> String? {
        guard credentials.count == 1 else { return nil }
        let parts = credentials[0].split(separator: " ", maxSplits: 1)
        // A text that is longer than any token is not worth a digest.
        guard parts.count == 2, parts[0].lowercased() == "bearer", parts[1].utf8.count <= ControlToken.maximumText
        else { return nil }
        return String(parts[1])
    }
}
