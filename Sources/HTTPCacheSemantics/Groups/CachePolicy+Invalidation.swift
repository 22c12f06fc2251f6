package import HTTPTypes

extension CachePolicy {
    /// Returns the targets whose stored responses this response invalidates. RFC 9111 §4.4
    ///
    /// A response invalidates only if its method is unsafe or unknown and its status is not an
    /// error (2xx, 3xx). It invalidates:
    ///
    /// - the target itself;
    /// - `Location` and `Content-Location`, resolved against the target, if they have the same
    ///   origin.
    ///
    /// Each target is listed once. If ``TargetURI/init(_:)`` would percent-encode a reference
    /// (`/a|b`), both spellings are listed, because a request may have used either. If a field is
    /// repeated, its first line applies.
    package func invalidatedTargets(
        by response: HTTPResponse,
        to request: HTTPRequest,
        target: TargetURI
    ) -> [TargetURI] {
        guard !request.method.isSafe else { return [] }
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
