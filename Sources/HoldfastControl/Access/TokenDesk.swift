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

    /// There were too many failed tries.
    struct Wait: Error {
        /// When to try again.
        let seconds: Int
    }

    /// The client that presents a token.
    ///
    /// A page has no token, so a request without one is not counted: a page of the operator's
    /// browser could shut its operator out.
    ///
    /// - Parameters:
    ///   - credentials: the values of the request's `Authorization` fields.
    ///   - address: the client's IP address.
    /// - Throws: ``ControlProblem`` if there is not one right token; ``Wait`` if there were too
    ///   many failed tries.
    func client(presenting credentials: [String], from address: String) throws -> ControlClient {
        // Judged and counted as one step: thirty connections have five tries, not thirty.
        try tries.withLock { tries in
            if let seconds = tries.wait(of: address, at: now()) { throw Wait(seconds: seconds) }
            guard !credentials.isEmpty else { throw Self.unauthorized }
            if credentials.count == 1, let text = Self.bearer(credentials[0]), let token = tokens.token(presented: text)
            {
                return ControlClient(name: token.name, scope: token.scope)
            }
            tries.record(address, at: now())
            throw Self.unauthorized
        }
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

    private static func bearer(_ value: String) -> String? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
