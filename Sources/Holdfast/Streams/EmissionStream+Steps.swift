import HoldfastContent

extension EmissionStream {
    /// Returns the emissions with their values transformed.
    ///
    /// - Parameter transform: if it throws, the stream ends with the error. Any error other than a
    ///   `HoldfastError` becomes the cause of one: with code `decodingFailed` if a decoder threw
    ///   it, and `dataFormat` otherwise.
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other
    ) -> EmissionStream<Other> {
        flatMapEmission { try $0.map(transform) }
    }

    /// Returns the emissions with their values transformed. If the transformation returns `nil`,
    /// the stream ends with an error with code `dataFormat`.
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

    /// Chains a request: makes another call for each emission, and emits that call's value instead.
    ///
    /// If the first stream emits twice, so does this stream. The second call uses its endpoint's
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
                    // An error in the caller's code means that the value is malformed, not that the
                    // network failed.
                    if error is HoldfastError || error is CancellationError { throw error }
                    throw HoldfastError(rejecting: emission.value, for: Other.self, because: error)
                }
            }
        }
    }
}
