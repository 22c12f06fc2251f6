public import HoldfastContent

extension Emission where Value: EnvelopedContent, Value.Model: Sendable {
    /// Returns an emission of only the model: see ``EnvelopedContent/validate()``.
    ///
    /// - Throws: `HoldfastError` with code `envelope`.
    public func validate() throws -> Emission<Value.Model?> {
        do {
            return try map { try $0.validate() }
        } catch var error as HoldfastError {
            error.status = status
            throw error
        }
    }
}

extension Emission {
    /// Returns the emission with its value transformed by a step.
    ///
    /// - Throws: `HoldfastError` with code `decodingFailed` if a decoder fails, or `dataFormat`
    ///   if the step returns `nil` or throws another error. `HoldfastError.rejected` holds the
    ///   value.
    public func step<Next: Sendable>(_ transform: (Value) throws -> Next?) throws -> Emission<Next> {
        let next = Result<Value, HoldfastError>.success(value).step(transform)
        do {
            return try map { _ in try next.get() }
        } catch var error as HoldfastError {
            error.status = error.status ?? status
            throw error
        }
    }

    /// Returns the emission with its value transformed by a named step: see ``ResultStep``.
    public func step<Next: Sendable>(_ step: ResultStep<Value, Next>) throws -> Emission<Next> {
        try self.step { try step.transform($0) }
    }
}

extension Emission where Value == RawContent {
    /// Returns an emission of the value at a path.
    ///
    /// - Throws: `HoldfastError`, like ``RawContent/value(at:as:)``.
    public func map<Model: Decodable & Sendable>(
        _ type: Model.Type,
        at path: ValuePath = ValuePath()
    ) throws -> Emission<Model> {
        try map { try $0.value(at: path, as: type) }
    }
}
