import HTTPCacheSemantics
import HTTPTypes

/// The decisions about a response in a coding that only other requests accept. It is used if the
/// origin cannot be asked, for a caller that decodes it: ``CacheRequest/decodesGzip``.
extension ReuseMachine {
    /// Returns a stored response that would match if the request had its `Accept-Encoding`,
    /// preferably one whose content the client can get.
    private func selectInOtherCoding(_ accepted: AcceptEncoding.Accepted) -> StoredResponse? {
        var matcher = VariantMatcher(policy, prepared.selecting, ignoring: "accept-encoding")
        let others = unmatched.filter { $0.head.status.code == 200 && matcher.matches($0.head) }
        return others.first { accepted.contains($0.head.fields.contentCodings) }
            ?? others.first { isDecodable($0.head, accepted) } ?? others.first
    }

    /// Decides about the response in another coding, if there is one.
    ///
    /// - Parameter cause: the failure of an unreachable origin; `nil` if the origin may not be
    ///   contacted.
    /// - Returns: `nil` if there is none, or if it may not be served for another reason.
    func useOtherCoding(cause: (any Error)?) -> Action? {
        guard prepared.request.decodesGzip, preference != .networkOnly, !unmatched.isEmpty else { return nil }
        let accepted = AcceptEncoding.Accepted(request.headerFields)
        guard let stored = selectInOtherCoding(accepted) else { return nil }
        let reuse = policy.reuse(of: stored.head, for: request, at: instant(for: stored.head))
        guard var served = usableWithoutOrigin(stored, reuse, isOriginUnreachable: cause != nil) else { return nil }
        if accepted.contains(stored.head.fields.contentCodings) {
            if served.outcome.detail == nil { served.outcome.detail = cause == nil ? .offline : .unreachable }
            return .serve(served)
        }
        guard isDecodable(stored.head, accepted) else {
            return .refuse(.unreadableCoding(prepared.request, stored.head.fields.contentCodings, cause: cause))
        }
        served.isToBeDecoded = true
        served.outcome.detail = .decoded
        return .serve(served)
    }

    private func isDecodable(_ stored: StoredResponseHead, _ accepted: AcceptEncoding.Accepted) -> Bool {
        stored.fields.contentCodings == ["gzip"] && accepted.contains([]) && !stored.fields.forbidsTransforming
    }
}
