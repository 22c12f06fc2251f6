import HoldfastContent
import Synchronization

/// Recognizes equal decodings, so that values derived from a stored response can be reused.
final class DecodingIdentities: Sendable {
    /// The properties that distinguish decodings that use the client's decoder.
    private struct Settings: Hashable {
        var envelope: Envelope?
        var path: ValuePath
        var emptyContent: EmptyContent
    }

    /// Decodings are defined by endpoints in code, so there are few. Values of decodings beyond
    /// this limit are not kept.
    private static let limit = 256

    private let known = Mutex<[Settings: DecodingIdentity]>([:])
    /// The decoding of most endpoints, which needs no lookup in the table: no envelope, value at
    /// the top level.
    private let plain = DecodingIdentity()

    func identity(of decoding: ContentDecoding) -> DecodingIdentity? {
        if decoding.envelope == nil, decoding.path.steps.isEmpty, decoding.emptyContent == .missing { return plain }
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

/// An object without properties; only its identity matters.
final class DecodingIdentity: Sendable {}
