import Synchronization

/// Recognises equal decodings, so that values that were made of a stored response are found again.
final class DecodingIdentities: Sendable {
    /// The properties that distinguish decodings with the client's decoder.
    private struct Settings: Hashable {
        var envelope: Envelope?
        var path: ValuePath
        var emptyContent: EmptyContent
    }

    /// Decodings are written in endpoints, so there are few. Values of further ones are not kept.
    private static let limit = 256

    private let known = Mutex<[Settings: DecodingIdentity]>([:])
    /// No envelope, at the top level: the decoding of most endpoints, without a lookup in the
    /// table.
    private let plain = DecodingIdentity()

    func identity(of decoding: ContentDecoding) -> DecodingIdentity? {
        if decoding.envelope == nil, decoding.path.steps.isEmpty, decoding.emptyContent == .isMissing { return plain }
        let settings = Settings(envelope: decoding.envelope, path: decoding.path, emptyContent: decoding.emptyContent)
        return known.withLock { known in
            if let identity = known[settings] { return identity }
            guard known.count < Self.limit else { return nil }
            let identity = DecodingIdentity()
            known[settings] = identity
            return identity
        }
    }
}
