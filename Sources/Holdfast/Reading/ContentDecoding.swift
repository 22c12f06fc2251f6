import HTTPTypes
import HoldfastContent

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decodes a value from a response's content, with the settings of the client, the endpoint and the
/// call.
struct ContentDecoding: Sendable {
    var decoder: any ResponseDecoder
    var envelope: Envelope?
    /// The path of the value. If there is an envelope, the path starts at its model.
    var path: ValuePath
    var emptyContent: EmptyContent

    /// Returns the decoded value.
    ///
    /// `Data` and ``RawContent`` are the content itself, and so is `String` if there is neither an
    /// envelope nor a path. `EnvelopeResult`, ``Enveloped`` and other ``EnvelopedContent`` types
    /// report a failure in their value. For all other types, an envelope that reports a failure is
    /// an error.
    /// - Throws: `HoldfastError` with code `envelope`, `noData`, `decodingFailed` or
    ///   `dataFormat`. The error includes the content's bytes.
    func decode<Value: Decodable>(
        _ type: Value.Type,
        from data: Data,
        status: HTTPResponse.Status,
        target: MessageTarget
    ) throws -> Value {
        if type == Data.self, let value = data as? Value { return value }
        if type == RawContent.self,
            let value = RawContent(data, decoding: self, status: status, target: target) as? Value
        {
            return value
        }
        if type == NoContent.self, let value = NoContent() as? Value {
            try checkEnvelope(data, status: status, target: target)
            return value
        }
        if type == String.self, envelope == nil, path.isEmpty,
            let value = String(bytes: data, encoding: .utf8) as? Value
        {
            return value
        }
        let input = Input(data: data, status: status, target: target)
        guard !data.isEmpty else { return try valueOfEmptyContent(type, in: input, at: ValuePath()) }
        do {
            return try located(type, in: input)
        } catch let error as HoldfastError {
            throw error
        } catch {
            throw HoldfastError(undecodable: error, type: type, in: input)
        }
    }

    /// Checks that the envelope reports success, if an envelope is expected. Content that is not an
    /// envelope is an error; empty content is not.
    ///
    /// - Throws: `HoldfastError` with code `envelope` or `decodingFailed`.
    func checkEnvelope(_ data: Data, status: HTTPResponse.Status, target: MessageTarget) throws {
        guard let envelope, !data.isEmpty else { return }
        let input = Input(data: data, status: status, target: target)
        let result: EnvelopeResult
        do {
            result = try DecodingLocation.$current.withValue(DecodingLocation(envelope: envelope)) {
                try decoder.decode(EnvelopeResult.self, from: data)
            }
        } catch {
            throw HoldfastError(undecodable: error, type: EnvelopeResult.self, in: input)
        }
        guard result.isSuccess else { throw HoldfastError(failed: result, in: input) }
    }

    /// Rejects content that is an envelope and reports a failure. Plain bytes may or may not be an
    /// envelope. If they have no status, they are accepted, because they may be something else,
    /// such as an image.
    ///
    /// - Throws: `HoldfastError` with code `envelope`.
    func rejectFailure(_ data: Data, status: HTTPResponse.Status, target: MessageTarget) throws {
        guard let envelope, !data.isEmpty else { return }
        // Content without a status must not be mistaken for an envelope.
        var unfilled = envelope
        unfilled.missingCode = .null
        let result = try? DecodingLocation.$current.withValue(DecodingLocation(envelope: unfilled)) {
            try decoder.decode(EnvelopeResult.self, from: data)
        }
        guard let result, result.code != .null, !result.isSuccess else { return }
        throw HoldfastError(failed: result, in: Input(data: data, status: status, target: target))
    }

    /// Returns whether a type accepts the content as bytes, in which case decoding cannot detect
    /// bad content.
    func takesBytes(_ type: any Decodable.Type) -> Bool {
        if type == String.self { return envelope == nil && path.isEmpty }
        return type == Data.self || type == RawContent.self || type == NoContent.self
    }
}

extension ContentDecoding {
    /// A response's content, with its source for error messages.
    struct Input {
        var data: Data
        var status: HTTPResponse.Status
        var target: MessageTarget
    }

    private func located<Value: Decodable>(_ type: Value.Type, in input: Input) throws -> Value {
        // The fast path for the common case: the content is the value.
        if envelope == nil, path.isEmpty { return try decoder.decode(type, from: input.data) }
        if type is any ClientsEnvelope.Type {
            return try DecodingLocation.$current.withValue(DecodingLocation(envelope: envelope, path: path)) {
                try decoder.decode(type, from: input.data)
            }
        }
        guard let envelope, !(type is any EnvelopedContent.Type) else {
            return try DecodingLocation.$current.withValue(DecodingLocation(path: path, clientEnvelope: envelope)) {
                try decoder.decode(Located<Value>.self, from: input.data).value
            }
        }
        let unwrapped = try DecodingLocation.$current.withValue(DecodingLocation(envelope: envelope, path: path)) {
            try decoder.decode(Unwrapped<Value>.self, from: input.data)
        }
        switch unwrapped.found {
        case .value(let value): return value
        case .missing(let place), .null(let place): return try valueOfEmptyContent(type, in: input, at: place)
        case nil: throw HoldfastError(failed: unwrapped.result, in: input)
        }
    }

    /// Returns the value for empty content, or for an envelope without a model.
    private func valueOfEmptyContent<Value: Decodable>(
        _ type: Value.Type,
        in input: Input,
        at place: ValuePath
    ) throws -> Value {
        switch emptyContent {
        case .json(let json):
            do {
                return try decoder.decode(type, from: Data(json.utf8))
            } catch {
                throw HoldfastError(undecodable: error, type: type, in: input)
            }
        case .missing:
            if let absent = type.absent { return absent }
            throw HoldfastError(
                code: .noData,
                message: "'\(input.target)' responded with \(input.status) "
                    + (place.isEmpty ? "without content" : "and no value at '\(place)'")
                    + "; a '\(type)' was expected. Set 'emptyContent' to define what this means.",
                status: input.status,
                body: Array(input.data)
            )
        }
    }
}

/// A type that reads the envelope of the client or the endpoint.
protocol ClientsEnvelope {}
extension EnvelopeResult: ClientsEnvelope {}
extension Enveloped: ClientsEnvelope {}
