import Crypto
import HTTPCacheSemantics
import HTTPTypes

/// Tells the partition of a request: whose stored responses it may see.
///
/// The HMAC keeps the credentials themselves out of key, store and logs, and its secret keeps a stolen store from being
/// searched for them.
struct CredentialPartition: Sendable {
    /// Fields that say on whose behalf a request is made, in lower case.
    ///
    /// Those that differ from request to request of one user (CSRF tokens, DPoP proofs) are not among them.
    private static let credentialNames: Set<String> = [
        "authorization", "cookie", "api-key", "x-api-key", "x-access-token", "x-auth", "x-auth-key", "x-auth-token",
        "x-authorization", "x-id-token", "x-session", "x-session-id", "x-session-token", "x-token",
    ]

    private let secret: SymmetricKey

    init(secret: [UInt8]) {
        self.secret = SymmetricKey(data: secret)
    }

    static func isCredential(_ field: HTTPField) -> Bool {
        credentialNames.contains(field.name.canonicalName)
    }

    static func hasCredentials(_ fields: HTTPFields) -> Bool {
        fields.contains(where: isCredential)
    }

    func partition(of request: CacheRequest) -> CacheKey.Partition {
        if let principal = request.principal { return .principal(principal) }
        guard Self.hasCredentials(request.head.headerFields) else { return .shared }
        var hmac = HMAC<SHA256>(key: secret)
        for field in request.head.headerFields where Self.isCredential(field) { hmac.update(field) }
        return .credentials(Array(hmac.finalize()))
    }

    /// The request as variants are selected by it: with credentials replaced by their HMACs, because `Vary: Cookie` has selecting fields
    /// stored with the response. RFC 9111 §4.1
    func selecting(_ request: HTTPRequest) -> HTTPRequest {
        guard Self.hasCredentials(request.headerFields) else { return request }
        var request = request
        request.headerFields = HTTPFields(
            request.headerFields.map { field in
                guard Self.isCredential(field) else { return field }
                var hmac = HMAC<SHA256>(key: secret)
                hmac.update(field)
                let digits = hmac.finalize().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
                return HTTPField(name: field.name, value: digits.joined())
            }
        )
        return request
    }
}

extension HMAC {
    fileprivate mutating func update(_ field: HTTPField) {
        updateWithLengthPrefix(Array(field.name.canonicalName.utf8))
        updateWithLengthPrefix(Array(field.value.utf8))
    }

    private mutating func updateWithLengthPrefix(_ bytes: [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { update(data: $0) }
        update(data: bytes)
    }
}
