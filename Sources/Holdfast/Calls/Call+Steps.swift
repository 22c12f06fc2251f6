public import HoldfastContent

extension Call {
    /// Returns the call with a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> Call {
        var call = self
        call.client = client
        return call
    }

    /// A copy of the call that uses the store: it emits the stored value first, then the network's,
    /// and stores the network's response.
    public var cache: Call {
        var call = self
        call.usesStore = true
        return call
    }

    /// Returns the call with changed options, as in `call.with { $0.timeout = .seconds(5) }`.
    public func with(_ change: (inout CallOptions) -> Void) -> Call {
        var call = self
        change(&call.options)
        return call
    }

    /// Returns the call with a different set of success statuses. Any other status is an error, and
    /// its response does not replace a stored success.
    public func accepting(_ statuses: AcceptedStatuses) -> Call { with { $0.acceptedStatuses = statuses } }

    /// Returns the call with a validation of the whole, decompressed content. The validation runs
    /// before the network's response is stored. A response that fails is not stored.
    ///
    /// Validations run in order, before the content is decoded.
    /// - Parameter check: throws if the content is invalid. Its error ends the call. Any error
    ///   other than `HoldfastError` is wrapped in one with code `dataFormat`.
    public func validate(_ check: @escaping @Sendable (ResponseContent) throws -> Void) -> Call {
        with { $0.checks.append(check) }
    }

    /// Returns the call with a decoder that replaces the client's.
    public func decoding(with decoder: any ResponseDecoder) -> Call { with { $0.decoder = decoder } }

    /// Returns the call with its content decoded as another type. Replaces earlier steps.
    ///
    /// - Parameter path: the path of the value in the content, instead of the endpoint's path.
    public func map<Model: Decodable & Sendable>(_ type: Model.Type, at path: ValuePath? = nil) -> Call<Model> {
        var call = interpreting(type, recall: { $0.value(type, madeBy: $1) }) { try $0.value(type) }
        if let path { call.options.valuePath = path }
        return call
    }

    /// Returns the call with a transformation of its value, whether from the store or the network.
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> Call<Other> {
        let interpret = interpret
        return interpreting(decoded) { try transform(try interpret($0)) }
    }

    /// Returns the call with a transformation of its value that may reject the value as malformed.
    ///
    /// If the transformation returns `nil`, the call fails with code `dataFormat`. The error
    /// contains the content.
    public func compactMap<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other?
    ) -> Call<Other> {
        let interpret = interpret
        return interpreting(decoded) { reader in
            guard let value = try transform(try interpret(reader)) else {
                throw HoldfastError(
                    code: .dataFormat,
                    message: "A step of the call for '\(reader.target)' returned no '\(Other.self)' for the content.",
                    status: reader.head.status,
                    body: reader.bytesForErrors
                )
            }
            return value
        }
    }
}

extension Call where Value: EnvelopedContent, Value.Model: Sendable {
    /// Returns the call with the envelope's model as its value, if the envelope reports success. A
    /// null model is `nil`. Example: `call.map(RootModel<Detail>.self).validate()`.
    ///
    /// If the envelope reports a failure, the call fails with code `envelope`.
    public func validate() -> Call<Value.Model?> {
        let interpret = interpret
        return interpreting(decoded) { reader in
            do {
                return try interpret(reader).validate()
            } catch var error as HoldfastError {
                error.status = reader.head.status
                error.body = reader.bytesForErrors
                throw error
            }
        }
    }
}
