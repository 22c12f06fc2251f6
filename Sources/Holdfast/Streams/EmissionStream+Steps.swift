extension EmissionStream {
    /// Returns the emissions with their values transformed.
    ///
    /// - Parameter transform: an error that it throws ends the stream. An error that is no
    ///   ``HoldfastError`` becomes the cause of one with code `decodingFailed` if it is a
    ///   decoder's, and `dataFormat` otherwise.
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other
    ) -> EmissionStream<Other> {
        flatMapEmission { try $0.map(transform) }
    }

    /// Returns the emissions with their values transformed. If the transformation returns `nil`,
    /// the stream ends with an error of code `dataFormat`.
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

    /// Chains a request: for each emission it makes another call, and emits the value of that call
    /// instead.
    ///
    /// If the first stream emits twice, so does this one. The second call uses its endpoint's
    /// strategy.
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
                    // An error of the caller's code means that the value is malformed; the network
                    // did not fail.
                    if error is HoldfastError || error is CancellationError { throw error }
                    throw HoldfastError(rejecting: emission.value, for: Other.self, because: error)
                }
            }
        }
    }
}
