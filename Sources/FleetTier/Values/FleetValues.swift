package import NIOCore

/// The sealed responses that the nodes of a fleet share, on a server that may drop any of them at
/// any time.
///
/// A value is bytes under a ``ValueName``, with a lifetime. Correctness does not depend on a
/// value's presence, and its bytes are not trusted: see ``EnvelopeSealer``. `FleetValuesContract`
/// (Tests/FleetTesting) tests the rules for all implementations.
///
/// Every call has a deadline and never waits past it. After ``FleetLogError/timedOut`` or
/// ``FleetLogError/unreachable``, a write may still have taken effect. Lifetimes are in whole
/// milliseconds; a lifetime below one millisecond is rejected with ``FleetLogError/limit(_:)``.
package protocol FleetValues: FetchLeases {
    /// Returns the values under the given names in one round trip, with `nil` for missing values.
    ///
    /// - Parameter names: at most ``ValueLimits/mostNames`` names, all of one cache key.
    func values(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?]

    /// Puts a value if it is not older than the existing value, and releases a lease in the same
    /// step.
    ///
    /// The existing value is replaced if one of these is true; otherwise it stays:
    /// - its header (``ValueHeader``) has an earlier response time, or the same response time
    /// - it has no header
    /// - its response time is more than one minute ahead of the server's clock
    ///
    /// - Parameters:
    ///   - value: at most ``ValueLimits/longestValue`` bytes, with a header.
    ///   - lease: released even if the value was not put, but only if it is still held with its own
    ///     ``FetchLease/token``.
    /// - Returns: whether the value was put.
    func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration,
        releasing lease: FetchLease?,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool

    /// Returns chunks of a body, with `nil` for missing chunks. Chunks use a separate connection,
    /// so that no value waits for them.
    ///
    /// - Parameter names: at most ``ValueLimits/mostChunks`` names, all of one cache key.
    func chunks(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?]

    /// Puts chunks of a body, over the same connection as ``chunks(_:within:)``.
    ///
    /// - Parameter chunks: at most ``ValueLimits/mostChunks`` chunks of at most
    ///   ``ValueLimits/longestChunk`` bytes, all of one cache key.
    /// - Throws: an error even if some of the chunks were put.
    func putChunks(_ chunks: [SealedChunk], for lifetime: Duration, within limit: Duration) async throws(FleetLogError)

    /// Sets a new lifetime for values and chunks, counted from now. It may be shorter than the old
    /// lifetime.
    ///
    /// - Parameter names: at most ``ValueLimits/mostExtended`` names, all of one cache key.
    /// - Returns: whether all of them existed.
    func extend(
        _ names: [ValueName],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool
}

/// The limits on shared data.
package enum ValueLimits {
    /// The maximum number of names in one call.
    package static let mostNames = 32
    /// The maximum number of chunks in one call. A higher number would delay the chunks of other
    /// bodies.
    package static let mostChunks = 8
    /// The maximum number of names in one call that sets a new lifetime.
    package static let mostExtended = 256
    /// The number of body bytes in one chunk, and the maximum length of a body inside an envelope.
    package static let chunkLength = 64 << 10
    /// The maximum length of a sealed chunk.
    package static let longestChunk = chunkLength + ChunkSealer.overhead
    /// The maximum length of a value: an envelope in which every part has its maximum length. The
    /// Redis client must accept a value of this length.
    package static let longestValue = EnvelopeSealer.longest
}
