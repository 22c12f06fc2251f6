extension EmissionStream {
    /// The emissions with another value each.
    ///
    /// - Parameter transform: what it throws ends the stream; an error that is no ``HoldfastError``
    ///   as the cause of one with code `dataFormat`, or `decodingFailed` where it is a decoder's.
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other
    ) -> EmissionStream<Other> {
        flatMapEmission { try $0.map(transform) }
    }

    /// The emissions with another value each; a transformation that answers `nil` ends the stream
    /// with an error of code `dataFormat`.
    public func compactMap<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other?
    ) -> EmissionStream<Other> {
        flatMapEmission { emission in
            guard let value = try transform(emission.value) else {
                var error = HoldfastError(rejecting: emission.value, for: Other.self)
                error.status = emission.status
                throw error
            }
            return emission.map { _ in value }
        }
    }

    /// A chained request: for each emission another call, whose one value is emitted in its place.
    ///
    /// Where the first stream emits twice, so does this one. The second call is made by its
    /// endpoint's strategy.
    public func flatMap<Other: Sendable>(
        _ next: @escaping @Sendable (Value) async throws -> Call<Other>
    ) -> EmissionStream<Other> {
        flatMapEmission { try await next($0.value).fetch() }
    }

    private func flatMapEmission<Other: Sendable>(
        _ transform: @escaping @Sendable (Emission<Value>) async throws -> Emission<Other>
    ) -> EmissionStream<Other> {
        EmissionStream<Other> {
            var iterator = makeAsyncIterator()
            return {
                guard let emission = try await iterator.next() else { return nil }
                do {
                    return try await transform(emission)
                } catch {
                    // What the caller's code throws says that the value is not what it should be;
                    // the network is not to blame.
                    if error is HoldfastError || error is CancellationError { throw error }
                    throw HoldfastError(rejecting: emission.value, for: Other.self, because: error)
                }
            }
        }
    }
}
