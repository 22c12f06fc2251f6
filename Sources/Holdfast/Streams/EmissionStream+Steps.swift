extension EmissionStream {
    /// The emissions with another value each.
    ///
    /// - Parameter transform: what it throws ends the stream.
    public func map<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other
    ) -> EmissionStream<Other> {
        flatMapEmission { try $0.map(transform) }
    }

    /// The emissions with another value each; a transformation that answers `nil` ends the stream with an error of code `dataFormat`.
    public func compactMap<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other?
    ) -> EmissionStream<Other> {
        flatMapEmission { emission in
            guard let value = try transform(emission.value) else {
                throw HoldfastError(
                    code: .dataFormat,
                    message: "A step of the stream made no '\(Other.self)' of a '\(Value.self)'.",
                    status: emission.status
                )
            }
            return emission.map { _ in value }
        }
    }

    /// A chained request: for each emission another call, whose one value is emitted in its place.
    ///
    /// Where the first stream emits twice, so does this one. The second call is made by its endpoint's strategy.
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
                return try await transform(emission)
            }
        }
    }
}
