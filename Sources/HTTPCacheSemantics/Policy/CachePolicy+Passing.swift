extension CachePolicy {
    /// Returns whether no cache that ``obeysCacheControlAlone`` stores a response whose only
    /// `Cache-Control` line is this one, whatever its other fields.
    ///
    /// This is the case for `no-store` without `must-understand`, which overrides it. RFC 9111
    /// §5.2.2.5, §5.2.2.3
    package static func forbidsStoring(cacheControl bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var directives = ResponseDirectives()
        directives.addLine(bytes)
        return directives.noStore && !directives.mustUnderstand
    }

    /// The suffix in the names of targeted fields, for a search without a policy. RFC 9213 §3
    package static let targetedSuffix = "-cache-control"

    /// Whether only `Cache-Control` decides about a response without a field that ends in
    /// ``targetedSuffix``: no other targeted field and no operator's rule applies.
    package var obeysCacheControlAlone: Bool {
        overriding == nil && targetedFields.allSatisfy { $0.hasSuffix(Self.targetedSuffix) }
    }
}
