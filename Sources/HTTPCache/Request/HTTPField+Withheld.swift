import HTTPCacheSemantics
package import HTTPTypes

extension HTTPField {
    /// Whether this selecting field of a stored response has another value than the client sent.
    ///
    /// The store keeps an HMAC (64 hexadecimal digits) of credentials and of the field that names a
    /// principal. The values from a chain of proxies are kept only for comparison.
    package var isWithheld: Bool {
        if CredentialPartition.isCredential(self) { return true }
        if name == .clientScheme, value.contains(ClientScheme.separator) { return true }
        return value.utf8.count == 64 && value.utf8.allSatisfy { $0.isHexDigit && $0 == $0.asciiLowercased }
    }
}
