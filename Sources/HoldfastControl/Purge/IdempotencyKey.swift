import Crypto

/// The idempotency key of a request, and a digest of its content. The digest distinguishes a
/// repeated request from a different request with the same key.
struct IdempotencyKey: Sendable, Hashable {
    let text: String
    let digest: [UInt8]

    /// The maximum length of a key, in bytes.
    static let maximumLength = 255

    /// Reads the idempotency key of a request.
    ///
    /// - Parameters:
    ///   - fields: the values of the request's `Idempotency-Key` fields.
    ///   - content: the request's content.
    /// - Returns: `nil` if the request has no key.
    /// - Throws: ``ControlProblem`` if there are several keys, or if the key is empty or too long.
    init?(_ fields: [String], of content: [UInt8]) throws(ControlProblem) {
        guard let text = fields.first else { return nil }
        guard fields.count == 1 else {
            throw ControlProblem(
                .invalidRequest,
                "'Idempotency-Key' occurs \(fields.count) times. Send it once.",
                field: "Idempotency-Key",
                value: fields.joined(separator: ", ")
            )
        }
        guard (1...Self.maximumLength).contains(text.utf8.count) else {
            throw ControlProblem(
                .invalidRequest,
                "'Idempotency-Key' has \(text.utf8.count) bytes; it must have 1 to \(Self.maximumLength). Use a UUID.",
                field: "Idempotency-Key",
                value: text,
                limit: Self.maximumLength
            )
        }
        self.text = text
        digest = Array(SHA256.hash(data: content))
    }

    /// The problem for a request whose key belongs to a running request.
    var isUnderWay: ControlProblem {
        ControlProblem(
            .keyInUse,
            "A purge with the 'Idempotency-Key' '\(ControlProblem.shown(text))' is in progress. Repeat the request in a moment.",
            field: "Idempotency-Key",
            value: text
        )
    }

    /// The problem for a request whose key was used for a different request.
    var isAnothers: ControlProblem {
        ControlProblem(
            .keyReused,
            "The 'Idempotency-Key' '\(ControlProblem.shown(text))' was used for another purge within the last hour. Use a new key.",
            field: "Idempotency-Key",
            value: text
        )
    }
}
