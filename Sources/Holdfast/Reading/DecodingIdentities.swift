import Synchronization

/// Knows the same way of decoding again, so that what it made of a stored response is found.
final class DecodingIdentities: Sendable {
    /// What tells ways of decoding apart, the client's decoder taken for granted.
    private struct Way: Hashable {
        var envelope: Envelope?
        var path: ValuePath
        var emptyContent: EmptyContent
    }

    /// Ways are written in endpoints, so there are few; of more than these, what the further ones
    /// make is not kept.
    private static let limit = 256

    private let known = Mutex<[Way: DecodingIdentity]>([:])
    /// No envelope, the top level: what most endpoints have, without a look into the table.
    private let plain = DecodingIdentity()

    func identity(of decoding: ContentDecoding) -> DecodingIdentity? {
        if decoding.envelope == nil, decoding.path.steps.isEmpty, decoding.emptyContent == .isMissing { return plain }
        let way = Way(envelope: decoding.envelope, path: decoding.path, emptyContent: decoding.emptyContent)
        return known.withLock { known in
            if let identity = known[way] { return identity }
            guard known.count < Self.limit else { return nil }
            let identity = DecodingIdentity()
            known[way] = identity
            return identity
        }
    }
}
