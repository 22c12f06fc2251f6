import Crypto
package import HTTPCacheSemantics

/// A secret that gives access to the control plane over TCP. Only the secret's digest is kept.
package struct ControlToken: Sendable, Hashable {
    /// The token's name in the log and the history.
    package let name: String
    /// The operations that the token allows.
    package let scope: ControlScope
    let digest: SHA256Digest

    /// The minimum number of random bytes that a token must be able to encode.
    package static let leastBytes = 32
    /// The maximum length of a token, in characters.
    static let maximumText = 512

    /// Creates a token from its text.
    ///
    /// - Parameters:
    ///   - text: the token, as it appears in `Authorization: Bearer`. RFC 6750 §2.1
    ///   - place: the token's location in the configuration, for the message.
    /// - Throws: `InvalidSetting` if the text is too short to encode 32 random bytes, is too long,
    ///   or contains a character that bearer tokens must not contain.
    package init(name: String, scope: ControlScope, text: String, place: String) throws(InvalidSetting) {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ $0.isUnreserved || "+/=".utf8.contains($0) }), bytes.count <= Self.maximumText else {
            throw InvalidSetting(
                "\(place) is not a token. A token is one line of at most \(Self.maximumText) letters, digits and '-._~+/='. \(Self.advice)"
            )
        }
        // A hexadecimal digit encodes half a byte, and a base64 character three quarters of a byte.
        let isHexadecimal = bytes.allSatisfy(\.isHexDigit)
        let room = isHexadecimal ? bytes.count / 2 : bytes.count * 3 / 4
        guard room >= Self.leastBytes else {
            throw InvalidSetting(
                "\(place) is too short: it can hold \(room) random bytes, and the minimum is \(Self.leastBytes). \(Self.advice)"
            )
        }
        self.name = name
        self.scope = scope
        digest = SHA256.hash(data: bytes)
    }

    /// Compares the token for metrics with those of the control plane.
    ///
    /// - Throws: `InvalidSetting` if one of them has the same secret.
    package func check(differsFrom tokens: [ControlToken]) throws(InvalidSetting) {
        guard let twin = tokens.first(where: { $0.digest == digest }) else { return }
        throw InvalidSetting(
            "The token of 'metrics.token' is also the token '\(twin.name)' of the control plane, so a client that reads metrics could use the control plane. \(Self.advice)"
        )
    }

    private static let advice = "Create one with 'openssl rand -hex 32'."
}

/// The tokens of a control plane.
struct TokenTable: Sendable {
    private let tokens: [ControlToken]

    init(_ tokens: [ControlToken]) { self.tokens = tokens }

    /// Returns the token that a request presents, or `nil` if it is unknown.
    ///
    /// The digests of all tokens are compared, each in constant time. The timing therefore reveals
    /// neither how much of a token was correct nor which token matched.
    func token(presented text: String) -> ControlToken? {
        let digest = SHA256.hash(data: Array(text.utf8))
        var found: ControlToken?
        for token in tokens {
            let isEqual = token.digest == digest
            if isEqual { found = token }
        }
        return found
    }
}
