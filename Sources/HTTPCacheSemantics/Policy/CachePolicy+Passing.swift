extension CachePolicy {
    /// Whether a response with this line, its only `Cache-Control`, is stored by no cache that knows no field in its place, whatever else it says: `no-store`, which
    /// `must-understand` does not lift. RFC 9111 §5.2.2.5, §5.2.2.3
    package static func forbidsStoring(cacheControl octets: UnsafeBufferPointer<UInt8>) -> Bool {
        var directives = ResponseDirectives()
        directives.add(octets)
        return directives.noStore && !directives.mustUnderstand
    }

    /// Whether a response may be told to be one that nobody stores by ``forbidsStoring(cacheControl:)`` where it has no field whose name ends so.
    package static let targetedSuffix = "-cache-control"

    /// Whether a response without a field of ``targetedSuffix`` has none of ``targetedFields``.
    package var isTargetedBySuffix: Bool { targetedFields.allSatisfy { $0.hasSuffix(Self.targetedSuffix) } }

    /// Whether a field ends at the next hop, whatever `Connection` says. RFC 9110 §7.6.1
    ///
    /// - Parameter canonicalName: in lower case.
    package static func isHopByHop(_ canonicalName: String) -> Bool { FieldRules.isHopByHop(canonicalName) }
}
