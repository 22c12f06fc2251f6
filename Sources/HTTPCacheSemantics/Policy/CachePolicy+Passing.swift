extension CachePolicy {
    /// Whether a response with this line, its only `Cache-Control`, is stored by no cache that
    /// ``obeysCacheControlAlone``, whatever else it says: `no-store`, which `must-understand` does
    /// not lift. RFC 9111 §5.2.2.5, §5.2.2.3
    package static func forbidsStoring(cacheControl bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var directives = ResponseDirectives()
        directives.add(bytes)
        return directives.noStore && !directives.mustUnderstand
    }

    /// How the names of the targeted fields end that are looked for where nobody asks the policy.
    /// RFC 9213 §3
    package static let targetedSuffix = "-cache-control"

    /// Whether nothing but `Cache-Control` says what it says of a response that has no field of
    /// ``targetedSuffix``: no other targeted field, and no operator.
    package var obeysCacheControlAlone: Bool {
        overriding == nil && targetedFields.allSatisfy { $0.hasSuffix(Self.targetedSuffix) }
    }
}
