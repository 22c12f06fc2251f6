import Crypto

/// A secret that opens the control plane over TCP. Only its digest is kept.
public struct ControlToken: Sendable, Hashable {
    /// Its name in the log and the history.
    public let name: String
    /// The operations it allows.
    public let scope: ControlScope
    let digest: SHA256Digest

    /// A token cannot be used.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// Names the token's file and the next step. It contains no secret.
        public let description: String
    }

    /// The bytes of entropy that a token must have room for.
    public static let leastBytes = 32
    /// The longest token, in characters.
    static let maximumText = 512

    /// - Parameters:
    ///   - text: the token, as `Authorization: Bearer` carries it. RFC 6750 §2.1
    ///   - place: where the token is configured, for the message.
    /// - Throws: ``Refusal`` if the text has too little room for 32 random bytes, or contains a
    ///   character that bearer tokens may not have.
    public init(name: String, scope: ControlScope, text: String, place: String) throws(Refusal) {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy(Self.isTokenByte), bytes.count <= Self.maximumText else {
            throw Refusal(
                description:
                    "\(place) is not a token. A token is one line of at most \(Self.maximumText) letters, digits and '-._~+/='. \(Self.advice)"
            )
        }
        // A hexadecimal digit has room for half a byte, a base64 character for three quarters.
        let isHexadecimal = bytes.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
        let room = isHexadecimal ? bytes.count / 2 : bytes.count * 3 / 4
        guard room >= Self.leastBytes else {
            throw Refusal(
                description:
                    "\(place) is too short: it can hold \(room) random bytes, and the minimum is \(Self.leastBytes). \(Self.advice)"
            )
        }
        self.name = name
        self.scope = scope
        digest = SHA256.hash(data: bytes)
    }

    private static let advice = "Create one with 'openssl rand -hex 32'."

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}

/// The tokens of a control plane.
struct TokenTable: Sendable {
    private let tokens: [ControlToken]

    init(_ tokens: [ControlToken]) { self.tokens = tokens }

    /// The token that a request presents.
    ///
    /// Compares the digests of all tokens, each in constant time. The timing reveals neither how
    /// much of a token was right nor which token matched.
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
