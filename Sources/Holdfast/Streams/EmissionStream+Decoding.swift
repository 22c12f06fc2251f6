#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension EmissionStream where Value == Data {
    /// The emissions with their content decoded: `endpoint.request().map(User.self)`.
    ///
    /// The same as ``Call/map(_:at:)`` before ``Call/request()``: decoder, envelope and validations
    /// are those of the call, and content that says failure is not stored in the place of a
    /// success. A stream that was transformed before, or made by hand, is no request any more: its
    /// bytes are decoded as JSON with ISO 8601 dates and without an envelope.
    ///
    /// - Parameter path: where in the content the value stands, in place of the endpoint's.
    public func map<Model: Decodable & Sendable>(
        _ type: Model.Type,
        at path: ValuePath? = nil
    ) -> EmissionStream<Model> {
        switch request {
        case .call(let call): call.map(type, at: path).request()
        case .onCache(let request): request.map(type, at: path)
        case nil: map { try Content($0).value(at: path ?? ValuePath(), as: type) }
        }
    }
}

extension OnCache where Value == Data {
    /// The network's value decoded, while the stored one goes to its closure as it is.
    fileprivate func map<Model: Decodable & Sendable>(_ type: Model.Type, at path: ValuePath?) -> EmissionStream<Model>
    {
        var both = call.interpreting(type) { [interpret = call.interpret] reader in
            (content: try interpret(reader), model: try reader.value(type))
        }
        if let path { both.options.valuePath = path }
        return OnCache<(content: Data, model: Model)>(call: both) { [onStored] stored in
            onStored(stored.map(\.content))
        }.request().map(\.model)
    }
}

extension EmissionStream {
    /// Not here: the values are decoded already.
    @available(
        *,
        unavailable,
        message:
            "These values are decoded already. Put the type before the request: 'endpoint.map(User.self).request()'."
    )
    public func map<Model: Decodable & Sendable>(
        _ type: Model.Type,
        at path: ValuePath? = nil
    ) -> EmissionStream<Model> {
        map { _ in throw HoldfastError(code: .dataFormat, message: "The values are decoded already.") }
    }
}
