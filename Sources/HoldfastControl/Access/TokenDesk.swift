public import NIOCore
import Synchronization

/// Tells clients by their tokens, and limits how often an address may present a wrong one.
public final class TokenDesk: Sendable {
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
        guard !tokens.isEmpty else { throw ControlToken.Refusal(description: "There is no token.") }
        for (index, token) in tokens.enumerated() {
            guard let twin = tokens[..<index].first(where: { $0.digest == token.digest }) else { continue }
            throw ControlToken.Refusal(
                description:
                    "The tokens '\(twin.name)' and '\(token.name)' of 'control.tokens' are the same. Make another one for one of them."
            )
        }
        self.tokens = TokenTable(tokens)
        self.now = now
    }

    /// A desk that knows no token of its own: only sessions open it.
    init(ofSessions now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        tokens = TokenTable([])
        self.now = now
    }

    /// There were too many failed tries.
    struct Wait: Error {
        /// When to try again.
        let seconds: Int

        var problem: ControlProblem {
            ControlProblem(
                .tooManyFailedTries,
                "\(FailedTries.limit) wrong tokens have come from this address within a minute. Try again in \(seconds) s, or use the Unix socket.",
                limit: FailedTries.limit
            )
        }
    }

    /// The client that presents a token.
    ///
    /// A page has no token, so a request without one is not counted: a page of the operator's
    /// browser could shut its operator out.
    ///
    /// - Parameters:
    ///   - credentials: the values of the request's `Authorization` fields.
    ///   - address: the client's IP address.
    ///   - sessions: those of pages, whose tokens are right too.
    /// - Throws: ``ControlProblem`` if there is not one right token; ``Wait`` if there were too
    ///   many failed tries.
    func client(
        presenting credentials: [String],
        from address: String,
        or sessions: SessionDesk? = nil
    ) throws -> ControlClient {
        // Judged and counted as one step: thirty connections have five tries, not thirty.
        try tries.withLock { tries in
            if let seconds = tries.wait(of: address, at: now()) { throw Wait(seconds: seconds) }
            guard !credentials.isEmpty else { throw Self.unauthorized }
            if let text = Self.bearer(in: credentials) {
                if let token = tokens.token(presented: text) {
                    return ControlClient(name: token.name, scope: token.scope)
                }
                if let client = sessions?.client(presenting: text) { return client }
            }
            tries.record(address, at: now())
            throw Self.unauthorized
        }
    }

    /// Whether credentials are right. A wrong one is no failed try: it was right before.
    func knows(_ credentials: [String], or sessions: SessionDesk) -> Bool {
        guard let text = Self.bearer(in: credentials) else { return false }
        return tokens.token(presented: text) != nil || sessions.client(presenting: text) != nil
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
        "A token is expected: 'Authorization: Bearer TOKEN', once, with a token of 'control.tokens'.",
        field: "Authorization"
    )

    /// The token that a request presents, once.
    static func bearer(in credentials: [String]) -> String? {
        guard credentials.count == 1 else { return nil }
        let parts = credentials[0].split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
