import Crypto
import HTTPCacheSemantics
package import HTTPTypes

/// Computes a request's partition: the principal whose stored responses it may see.
///
/// The HMAC keeps the credentials themselves out of the key, the store and logs. Because the HMAC
/// has a secret key, a stolen store cannot be searched for known credentials.
package struct CredentialPartition: Sendable {
    private let secret: SymmetricKey

    init(secret: [UInt8]) {
        self.secret = SymmetricKey(data: secret)
    }

    /// Returns whether a field identifies a request's principal: it is a credential, or a proof
    /// that accompanies a credential.
    package static func isCredential(_ field: HTTPField) -> Bool { meaning(of: field) != nil }

    /// Returns whether a field accompanies a credential and differs in each request.
    static func isProof(_ field: HTTPField) -> Bool { meaning(of: field) == .proof }

    /// Returns whether the field is the same for many requests of one principal, so that it
    /// distinguishes principals.
    private static func isKeyed(_ field: HTTPField) -> Bool { meaning(of: field) == .credential }

    private static func meaning(of field: HTTPField) -> RequestFieldTable.Meaning? {
        RequestFieldTable.credentials.entry(of: field.name.canonicalName)?.meaning
    }

    package static func hasCredentials(_ fields: HTTPFields, ignoring ignored: Set<HTTPField.Name> = []) -> Bool {
        // By index, because a loop over the fields copies each field.
        fields.indices.contains {
            isCredential(fields[$0]) && (ignored.isEmpty || !ignored.contains(fields[$0].name))
        }
    }

    /// Returns the partition of a request's own credentials, if requests must have these in common
    /// to share a fetch: see ``PreparedRequest/sharedCredentials``.
    func shared(by request: CacheRequest, _ settings: ExchangeSettings?) -> StoreKey.Partition? {
        guard request.isContentKeyed || settings?.eventStreams != nil else { return nil }
        var request = request
        request.principal = nil
        let partition = partition(of: request)
        return partition == .common ? nil : partition
    }

    /// - Parameter ignored: fields that do not identify a principal.
    func partition(of request: CacheRequest, ignoring ignored: Set<HTTPField.Name> = []) -> StoreKey.Partition {
        let secrets = request.secrets
        let withheld = secrets.flatMap { secrets in TargetURI(request: request.head).map(secrets.withheld(from:)) }
        let pieces = withheld?.pieces ?? []
        let principal = request.principal
        // Text that a secret parameter hides is not in the key, so the HMAC must distinguish
        // requests that differ in it.
        if let principal, withheld?.isAmbiguous != true { return .principal(principal) }
        let fields = request.head.headerFields
        let counted = fields.indices.filter { index in
            let name = fields[index].name
            return (Self.isCredential(fields[index]) || secrets?.fields.contains(name) == true)
                && !ignored.contains(name)
        }
        if counted.isEmpty, pieces.isEmpty { return .common }
        var hmac = HMAC<SHA256>(key: secret)
        // A request with only proofs gets the HMAC of no fields. It has no particular principal,
        // but its responses are still not shared.
        for field in counted.map({ fields[$0] })
        where Self.isKeyed(field) || secrets?.fields.contains(field.name) == true { hmac.update(field) }
        if !pieces.isEmpty {
            // No request field can have this name, so no fields can lead to this partition.
            hmac.updateWithLengthPrefix(Array("secret parameters".utf8))
            hmac.updateWithLengthPrefix(Array((principal.map { "principal " + $0 } ?? "").utf8))
            for piece in pieces { hmac.updateWithLengthPrefix(piece) }
        }
        return .credentials(Array(hmac.finalize()), of: request.principal)
    }

    /// Returns the partition of the principal that a rule identifies by a field or cookie; `nil` if
    /// the request does not have the field or cookie, or if it is empty.
    ///
    /// If the name occurs several times, all values count, because servers differ in which of them
    /// they use. A principal named by the caller also counts.
    func partition(of request: CacheRequest, by source: ExchangeSettings.PrincipalSource) -> StoreKey.Partition? {
        var hmac = HMAC<SHA256>(key: secret)
        // No request field can begin with these bytes, so no credentials can lead to this
        // partition.
        hmac.updateWithLengthPrefix(Array("store per".utf8))
        hmac.updateWithLengthPrefix(Array((request.principal.map { "principal " + $0 } ?? "").utf8))
        let values: [[UInt8]]
        switch source {
        case .field(let name):
            hmac.updateWithLengthPrefix(Array("field \(name.canonicalName)".utf8))
            values = request.head.headerFields[values: name].map { Array($0.utf8) }
        case .cookie(let name):
            hmac.updateWithLengthPrefix(Array("cookie \(name)".utf8))
            values = request.head.headerFields.cookies(named: name)
        }
        guard values.contains(where: { !$0.isEmpty }) else { return nil }
        for value in values { hmac.updateWithLengthPrefix(value) }
        return .credentials(Array(hmac.finalize()), of: request.principal)
    }

    /// Returns the request that selects variants, with HMACs in place of its credentials, because
    /// with `Vary: Cookie` the store keeps the field with the response. RFC 9111 §4.1
    ///
    /// - Parameters:
    ///   - principal: the field by which a rule identifies principals, which counts as a
    ///     credential.
    ///   - secrets: the caller's additional credentials.
    func selecting(
        _ request: HTTPRequest,
        principal: HTTPField.Name? = nil,
        secrets: RequestSecrets? = nil
    ) -> HTTPRequest {
        let isReplaced = Self.isSecret(principal, secrets)
        guard request.headerFields.contains(where: isReplaced) else { return request }
        var request = request
        request.headerFields = HTTPFields(
            request.headerFields.map { field in
                guard isReplaced(field) else { return field }
                var hmac = HMAC<SHA256>(key: secret)
                hmac.update(field)
                return HTTPField(name: field.name, value: hmac.finalize().hexadecimal)
            }
        )
        return request
    }
}

extension CredentialPartition {
    private static func isSecret(_ principal: HTTPField.Name?, _ secrets: RequestSecrets?) -> (HTTPField) -> Bool {
        { field in
            isCredential(field) || field.name == principal || secrets?.fields.contains(field.name) == true
        }
    }

    /// Returns the request without its credentials, so that they select no variant. For a job,
    /// which has one identity at each origin.
    ///
    /// - Parameters:
    ///   - principal: the field by which a rule identifies principals.
    ///   - secrets: the caller's additional credentials.
    static func withoutCredentials(
        _ request: HTTPRequest,
        principal: HTTPField.Name?,
        secrets: RequestSecrets?
    ) -> HTTPRequest {
        let isSecret = isSecret(principal, secrets)
        guard request.headerFields.contains(where: isSecret) else { return request }
        var request = request
        request.headerFields.removeAll(where: isSecret)
        return request
    }
}

extension HMAC {
    fileprivate mutating func update(_ field: HTTPField) {
        updateWithLengthPrefix(Array(field.name.canonicalName.utf8))
        updateWithLengthPrefix(Array(field.value.utf8))
    }

    fileprivate mutating func updateWithLengthPrefix(_ bytes: [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { update(data: $0) }
        update(data: bytes)
    }
}

extension HTTPFields {
    /// Returns the values of all cookies with a name, as received. RFC 6265 §4.2.1
    fileprivate func cookies(named name: String) -> [[UInt8]] {
        var result: [[UInt8]] = []
        for line in self[values: .cookie] {
            for pair in line.utf8.split(separator: UInt8(ascii: ";")) {
                guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
                    pair[..<equals].trimmingWhitespace().elementsEqual(name.utf8)
                else { continue }
                result.append(Array(pair[pair.index(after: equals)...].trimmingWhitespace()))
            }
        }
        return result
    }
}

extension Sequence<UInt8> {
    /// The bytes as text, with two lowercase hexadecimal digits per byte.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
