package import NIOCore

/// The sealed responses that the nodes of a fleet share, on an engine that forgets when it likes.
///
/// A value is bytes under a ``ValueName``, with a lifetime. Nothing rests on a value's presence,
/// and its bytes are not trusted: see ``EnvelopeSealer``. `SharedValuesContract` (HoldfastTesting)
/// has the rules for all implementations.
///
/// Every call has a deadline, and never waits longer. After an error of
/// ``SharedLogError/timedOut`` or ``SharedLogError/unreachable`` a write may have been performed.
/// Lifetimes are counted in whole milliseconds, and one below a millisecond is rejected with
/// ``SharedLogError/limit(_:)``.
package protocol SharedValues: FillLeases {
    /// The values under some names, in one round trip; `nil` for those that are not there.
    ///
    /// - Parameter names: at most ``ValueLimits/mostNames``, all of one cache key.
    func values(_ names: [ValueName], within limit: Duration) async throws(SharedLogError) -> [ByteBuffer?]

    /// Puts a value in the place of an earlier one, and gives a lease back in the same step.
    ///
    /// Earlier is one with an earlier or the same response time in its header (``ValueHeader``),
    /// without a header, or from more than a minute ahead of the engine's clock. A later one stays.
    ///
    /// - Parameters:
    ///   - value: at most ``ValueLimits/longestValue`` bytes, with a header.
    ///   - lease: is released if it is still held with this token, also if the value was not put.
    /// - Returns: whether it was put.
    func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration,
        releasing lease: FillLease?,
        within limit: Duration
    ) async throws(SharedLogError) -> Bool

    /// Chunks of a body, on a way of their own, so that no value waits for them; `nil` for those
    /// that are not there.
    ///
    /// - Parameter names: at most ``ValueLimits/mostChunks``, all of one cache key.
    func chunks(_ names: [ValueName], within limit: Duration) async throws(SharedLogError) -> [ByteBuffer?]

    /// Puts chunks of a body, on the same way as ``chunks(_:within:)``.
    ///
    /// - Parameter chunks: at most ``ValueLimits/mostChunks`` of at most
    ///   ``ValueLimits/longestChunk`` bytes, all of one cache key.
    /// - Throws: also if some were put, and others were not.
    func putChunks(_ chunks: [SealedChunk], for lifetime: Duration, within limit: Duration) async throws(SharedLogError)

    /// Gives values and chunks a new lifetime from now on. It may be shorter than the old one.
    ///
    /// - Parameter names: at most ``ValueLimits/mostExtended``, all of one cache key.
    /// - Returns: whether all of them were there.
    func extend(
        _ names: [ValueName],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(SharedLogError) -> Bool
}

/// The limits on what a fleet shares.
package enum ValueLimits {
    /// The most names of one call.
    package static let mostNames = 32
    /// The most chunks of one call. More of them at once would delay the chunks of others.
    package static let mostChunks = 8
    /// The most names of one call that gives a new lifetime.
    package static let mostExtended = 256
    /// The bytes of a body in one chunk, and the longest body in an envelope.
    package static let chunkLength = 64 << 10
    /// The longest chunk as sealed.
    package static let longestChunk = chunkLength + ChunkSealer.overhead
    /// The longest value: an envelope with all of its parts as long as they may be. An engine's
    /// client must accept a value of this length.
    package static let longestValue = EnvelopeSealer.longest
}
