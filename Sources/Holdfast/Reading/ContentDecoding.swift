import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes a value of the content of a response: everything that a client, an endpoint and a call say
/// about it.
struct ContentDecoding: Sendable {
    var decoder: any ResponseDecoder
    var envelope: Envelope?
    /// Where the value stands, below the envelope's model where there is an envelope.
    var path: ValuePath
    var emptyContent: EmptyContent

    /// The value.
    ///
    /// `Data` and ``Content`` are the content itself, and so is `String` where neither envelope nor
    /// path is given. ``EnvelopeResult``, ``Enveloped`` and other ``EnvelopedContent`` say
    /// themselves whether the request failed; for other types a failed envelope is an error.
    /// - Throws: ``HoldfastError`` with code `envelope`, `noData`, `decodingFailed` or
    ///   `dataFormat`; it keeps the bytes.
    func decode<Value: Decodable>(
        _ type: Value.Type,
        from data: Data,
        status: HTTPResponse.Status,
        target: MessageTarget
    ) throws -> Value {
        if type == Data.self, let value = data as? Value { return value }
        if type == Content.self,
            let value = Content(data, decoding: self, status: status, target: target) as? Value
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
        let answer = Answer(data: data, status: status, target: target)
        guard !data.isEmpty else { return try valueOfNothing(type, in: answer, at: ValuePath()) }
        do {
            return try located(type, in: answer)
        } catch let error as HoldfastError {
            throw error
        } catch {
            throw HoldfastError(undecodable: error, type: type, in: answer)
        }
    }

    /// Whether the envelope, where there is one, says success. Content that is no envelope where
    /// one is expected is an error too; no content is none.
    ///
    /// - Throws: ``HoldfastError`` with code `envelope` or `decodingFailed`.
    func checkEnvelope(_ data: Data, status: HTTPResponse.Status, target: MessageTarget) throws {
        guard let envelope, !data.isEmpty else { return }
        let answer = Answer(data: data, status: status, target: target)
        let result: EnvelopeResult
        do {
            result = try ReadingPlace.$current.withValue(ReadingPlace(envelope: envelope)) {
                try decoder.decode(EnvelopeResult.self, from: data)
            }
        } catch {
            throw HoldfastError(undecodable: error, type: EnvelopeResult.self, in: answer)
        }
        guard result.isSuccess else { throw HoldfastError(failed: result, in: answer) }
    }

    /// Refuses content that is an envelope and says failure. Content of which nobody knows whether
    /// it comes in an envelope, bytes as they are, passes where it has no status: it may be an
    /// image.
    ///
    /// - Throws: ``HoldfastError`` with code `envelope`.
    func refuseFailure(_ data: Data, status: HTTPResponse.Status, target: MessageTarget) throws {
        guard let envelope, !data.isEmpty else { return }
        // Content without a status must be known for what it is.
        var unfilled = envelope
        unfilled.missingCode = .null
        let result = try? ReadingPlace.$current.withValue(ReadingPlace(envelope: unfilled)) {
            try decoder.decode(EnvelopeResult.self, from: data)
        }
        guard let result, result.code != .null, !result.isSuccess else { return }
        throw HoldfastError(failed: result, in: Answer(data: data, status: status, target: target))
    }

    /// Whether a type takes content as the bytes that it is, so that decoding tells nothing of
    /// them.
    func takesBytes(_ type: any Decodable.Type) -> Bool {
        if type == String.self { return envelope == nil && path.isEmpty }
        return type == Data.self || type == Content.self || type == NoContent.self
    }
}

extension ContentDecoding {
    /// A response's content, and what an error says about where it came from.
    struct Answer {
        var data: Data
        var status: HTTPResponse.Status
        var target: MessageTarget
    }

    private func located<Value: Decodable>(_ type: Value.Type, in answer: Answer) throws -> Value {
        // Without detours: most content is the value.
        if envelope == nil, path.isEmpty { return try decoder.decode(type, from: answer.data) }
        if type is any ClientsEnvelope.Type {
            return try ReadingPlace.$current.withValue(ReadingPlace(envelope: envelope, path: path)) {
                try decoder.decode(type, from: answer.data)
            }
        }
        guard let envelope, !(type is any EnvelopedContent.Type) else {
            return try ReadingPlace.$current.withValue(ReadingPlace(path: path, described: envelope)) {
                try decoder.decode(Placed<Value>.self, from: answer.data).value
            }
        }
        let unwrapped = try ReadingPlace.$current.withValue(ReadingPlace(envelope: envelope, path: path)) {
            try decoder.decode(Unwrapped<Value>.self, from: answer.data)
        }
        switch unwrapped.found {
        case .value(let value): return value
        case .missing(let place), .null(let place): return try valueOfNothing(type, in: answer, at: place)
        case nil: throw HoldfastError(failed: unwrapped.result, in: answer)
        }
    }

    /// What no content, or no model in an envelope, stands for.
    private func valueOfNothing<Value: Decodable>(
        _ type: Value.Type,
        in answer: Answer,
        at place: ValuePath
    ) throws -> Value {
        switch emptyContent {
        case .standsFor(let json):
            do {
                return try decoder.decode(type, from: Data(json.utf8))
            } catch {
                throw HoldfastError(undecodable: error, type: type, in: answer)
            }
        case .isMissing:
            if let absent = type.absent { return absent }
            throw HoldfastError(
                code: .noData,
                message: "'\(answer.target)' answered \(answer.status) "
                    + (place.isEmpty ? "without content" : "with nothing at '\(place)'")
                    + "; a '\(type)' was expected. 'emptyContent' can say what this means.",
                status: answer.status,
                body: Array(answer.data)
            )
        }
    }
}

/// A type that reads the envelope which client or endpoint describe.
protocol ClientsEnvelope {}
extension EnvelopeResult: ClientsEnvelope {}
extension Enveloped: ClientsEnvelope {}
