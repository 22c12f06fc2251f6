extension Call {
    /// With a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> Call {
        var call = self
        call.client = client
        return call
    }

    /// What is stored first, then what the network answers, which is stored.
    public var cache: Call {
        var call = self
        call.usesStore = true
        return call
    }

    /// With options changed: `call.with { $0.timeout = .seconds(5) }`.
    public func with(_ change: (inout CallOptions) -> Void) -> Call {
        var call = self
        change(&call.options)
        return call
    }

    /// With the statuses that are a success. Others are an error, and are not stored in the place
    /// of a success.
    public func accepting(_ statuses: AcceptedStatuses) -> Call { with { $0.acceptedStatuses = statuses } }

    /// With a validation of the content, whole and decompressed. It runs before the network's
    /// answer is stored: what fails it is not.
    ///
    /// Validations run in order, before the value is made.
    /// - Parameter check: throws what is wrong. What it throws ends the call; an error that is no
    ///   ``HoldfastError`` is wrapped in one with code `dataFormat`.
    public func validate(_ check: @escaping @Sendable (ResponseContent) throws -> Void) -> Call {
        with { $0.checks.append(check) }
    }

    /// With a decoder in place of the client's.
    public func decoding(with decoder: any ResponseDecoder) -> Call { with { $0.decoder = decoder } }

    /// With the content decoded as another type, in place of what the value was before.
    ///
    /// - Parameter path: where it stands, in place of the endpoint's.
    public func map<Model: Decodable & Sendable>(_ type: Model.Type, at path: ValuePath? = nil) -> Call<Model> {
        var call = interpreting(type, recall: { $0.value(type, madeBy: $1) }) { try $0.value(type) }
        if let path { call.options.valuePath = path }
        return call
    }

    /// With the value turned into another, of the store and of the network alike.
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> Call<Other> {
        let interpret = interpret
        return interpreting(decoded) { try transform(try interpret($0)) }
    }

    /// With the value turned into another, or found not to be of the form that this needs.
    ///
    /// A transformation that answers `nil` is an error with code `dataFormat`, which keeps the
    /// content.
    public func compactMap<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other?
    ) -> Call<Other> {
        let interpret = interpret
        return interpreting(decoded) { reader in
            guard let value = try transform(try interpret(reader)) else {
                throw HoldfastError(
                    code: .dataFormat,
                    message: "A step of the call for '\(reader.target)' made no '\(Other.self)' of the content.",
                    status: reader.head.status,
                    body: reader.bytesForErrors
                )
            }
            return value
        }
    }
}

extension Call where Value: EnvelopedContent, Value.Model: Sendable {
    /// With the model of an envelope where it says success, `nil` where that is null:
    /// `call.map(RootModel<Detail>.self).validate()`.
    ///
    /// A failed envelope is an error with code `envelope`.
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
