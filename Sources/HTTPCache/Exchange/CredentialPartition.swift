import Crypto
import HTTPCacheSemantics
import HTTPTypes

/// Tells the partition of a request: whose stored responses it may see.
///
/// The HMAC keeps the credentials themselves out of key, store and logs, and its secret keeps a stolen store from being
/// searched for them.
struct CredentialPartition: Sendable {
    private let secret: SymmetricKey

    init(secret: [UInt8]) {
        self.secret = SymmetricKey(data: secret)
    }

    static func hasCredentials(_ fields: HTTPFields) -> Bool {
        fields.contains(.authorization) || fields.contains(.cookie)
    }

    func partition(of request: CacheRequest) -> CacheKey.Partition {
        if let principal = request.principal { return .principal(principal) }
        guard Self.hasCredentials(request.head.headerFields) else { return .shared }
        var hmac = HMAC<SHA256>(key: secret)
        for field in request.head.headerFields where field.name == .authorization || field.name == .cookie {
            hmac.updateWithLengthPrefix(Array(field.name.canonicalName.utf8))
            hmac.updateWithLengthPrefix(Array(field.value.utf8))
        }
        return .credentials(Array(hmac.finalize()))
    }
}

extension HMAC {
    fileprivate mutating func updateWithLengthPrefix(_ bytes: [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { update(data: $0) }
        update(data: bytes)
    }
}
