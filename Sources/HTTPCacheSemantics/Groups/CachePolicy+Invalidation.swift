public import HTTPTypes

extension CachePolicy {
    /// The targets whose stored responses are no longer to be trusted after this answer. RFC 9111
    /// §4.4
    ///
    /// For a method that is unsafe or unknown, and a status that is no error (2xx, 3xx): the target
    /// itself, then `Location` and `Content-Location`, resolved against it, where they are of the
    /// same origin. Each once. Where a reference would be percent-encoded by ``TargetURI/init(_:)``
    /// (`/a|b`), both spellings are named, because a request may have come with either. Of a field
    /// that comes twice the first line counts.
    public func invalidatedTargets(
        by response: HTTPResponse,
        to request: HTTPRequest,
        target: TargetURI
    ) -> [TargetURI] {
        guard !request.method.isKnownToBeSafe else { return [] }
        switch response.status.kind {
        case .successful, .redirection: break
        default: return []
        }
        var result = [target]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let field = response.headerFields.first(where: { $0.name == name }),
                let named = field.withUnsafeBytesOfValue({ bytes in
                    TargetURI(reference: bytes[bytes.trimmed(0..<bytes.count)], relativeTo: target)
                }),
                named.hasSameOrigin(as: target)
            else { continue }
            for spelling in [named, try? TargetURI(named.uri)] {
                if let spelling, !result.contains(spelling) { result.append(spelling) }
            }
        }
        return result
    }
}
