public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension EmissionStream where Value == Data {
    /// Returns the emissions with their content decoded, as in `endpoint.request().map(User.self)`.
    ///
    /// This is the same as ``Call/map(_:at:)`` before ``Call/request()``: the call's decoder,
    /// envelope and validations apply, and content that reports a failure does not replace a stored
    /// success. A stream that has already been transformed, or that you created yourself, has no
    /// request. Its bytes are decoded as JSON with ISO 8601 dates and without an envelope.
    ///
    /// - Parameter path: the path of the value in the content, instead of the endpoint's path.
    public func map<Model: Decodable & Sendable>(
        _ type: Model.Type,
        at path: ValuePath? = nil
    ) -> EmissionStream<Model> {
        switch request {
        case .call(let call): call.map(type, at: path).request()
        case .onCache(let request): request.map(type, at: path)
        case nil: map { try RawContent($0).value(at: path ?? ValuePath(), as: type) }
        }
    }
}

extension OnCache where Value == Data {
    /// Decodes the network's value, and passes the stored value to its closure undecoded.
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
    /// Unavailable, because the values are already decoded.
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
