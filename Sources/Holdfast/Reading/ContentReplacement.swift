import HoldfastContent

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Replaces the value in content, so that the same decoding reads the new value.
struct ContentReplacement {
    let decoding: ContentDecoding
    let encoder: any ContentEncoder
    /// The name of the request, for messages.
    let target: String

    /// Returns the content with a different value. The surrounding bytes do not change.
    ///
    /// - Returns: `nil` if both values encode to the same bytes.
    /// - Throws: `HoldfastError` with code `encodingFailed`.
    func data<Value: Codable>(_ data: Data, replacing former: Value, with value: Value) throws -> Data? {
        let place = place(of: Value.self)
        let isText = Value.self == String.self && place.isEmpty
        let encoded = try encode(value, isText: isText)
        if try encoded == encode(former, isText: isText) { return nil }
        var whole = encoded
        if !place.isEmpty {
            whole = data
            guard let range = JSONLocator(data: data, decoder: decoding.decoder).range(of: place) else {
                throw failure("there is no JSON value at '\(place)'")
            }
            whole.replaceSubrange(
                range.lowerBound + data.startIndex..<range.upperBound + data.startIndex,
                with: encoded
            )
        }
        try check(whole, is: Value.self)
        return whole
    }

    /// Returns content whose value this is, if there is no content yet. The objects around the
    /// value have no other members.
    ///
    /// - Throws: `HoldfastError` with code `encodingFailed`, also if the value is inside an
    ///   envelope or an array whose other content is unknown.
    func data<Value: Codable>(of value: Value) throws -> Data {
        let place = place(of: Value.self)
        var whole = try encode(value, isText: Value.self == String.self && place.isEmpty)
        for step in place.steps.reversed() {
            guard case .name(let name) = step, let key = try? JSONEncoder().encode(name) else {
                throw failure("the content around '\(place)' is unknown. Fetch it first, or set the whole content")
            }
            whole = Data("{".utf8) + key + Data(":".utf8) + whole + Data("}".utf8)
        }
        do {
            _ = try decoding.decode(Value.self, from: whole, status: .ok, target: MessageTarget(target))
        } catch {
            throw failure(
                "the client's decoder does not read what '\(Swift.type(of: encoder))' wrote. Pass a matching 'encoder'; "
                    + "if the value is inside an envelope, fetch it first",
                error
            )
        }
        return whole
    }

    /// Returns the path of a value of this type from the top level.
    private func place(of type: any Decodable.Type) -> ValuePath {
        if type == Data.self { return ValuePath() }
        // A type that is an envelope itself is never inside another envelope.
        let isEnvelope = type is any EnvelopedContent.Type && !(type is any ClientsEnvelope.Type)
        guard let envelope = decoding.envelope, !isEnvelope else { return decoding.path }
        return envelope.model.appending(decoding.path)
    }

    private func encode(_ value: some Encodable, isText: Bool) throws -> Data {
        if let data = value as? Data { return data }
        if isText, let text = value as? String { return Data(text.utf8) }
        do {
            return try encoder.encode(value)
        } catch {
            throw (error as? HoldfastError) ?? failure("its encoder failed", error)
        }
    }

    /// Checks that the content can be decoded again. Otherwise it would be lost for offline use.
    private func check(_ data: Data, is type: (some Decodable).Type) throws {
        do {
            _ = try decoding.decode(type, from: data, status: .ok, target: MessageTarget(target))
        } catch {
            throw failure(
                "the client's decoder cannot read the output of '\(Swift.type(of: encoder))'. Pass a matching 'encoder'",
                error
            )
        }
    }

    private func failure(_ reason: String, _ cause: (any Error)? = nil) -> HoldfastError {
        HoldfastError(
            code: .encodingFailed,
            message: "The value of '\(target)' was not stored: \(reason).",
            cause: cause
        )
    }
}
