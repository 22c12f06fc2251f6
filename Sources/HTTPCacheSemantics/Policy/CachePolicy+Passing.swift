extension CachePolicy {
    /// Whether no cache that ``obeysCacheControlAlone`` stores a response with this line as its
    /// only `Cache-Control`, whatever its other fields.
    ///
    /// That is so for `no-store` without `must-understand`, which lifts it. RFC 9111 §5.2.2.5,
    /// §5.2.2.3
    package static func forbidsStoring(cacheControl bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var directives = ResponseDirectives()
        directives.addLine(bytes)
        return directives.noStore && !directives.mustUnderstand
    }

    /// The suffix of the targeted fields' names, for a search without a policy. RFC 9213 §3
    package static let targetedSuffix = "-cache-control"

    /// Whether `Cache-Control` alone decides about a response that has no field of
    /// ``targetedSuffix``: there is no other targeted field, and no operator's rule.
    package var obeysCacheControlAlone: Bool {
        overriding == nil && targetedFields.allSatisfy { $0.hasSuffix(Self.targetedSuffix) }
    }
}
