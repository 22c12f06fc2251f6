import HTTPCache
import HTTPTypes
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The content of one response, for the steps that make a value of it. It belongs to one reading of
/// it.
final class ContentReader {
    let head: HTTPResponse
    /// As it came.
    let bytes: ByteBuffer
    /// What was made of the same stored content before.
    private let kept: DerivedValues?
    private let reading: ContentReading
    private var processed: ResponseContent?
    /// Whether a value is decoded once, also where nothing is kept beside the content.
    var remembersValue = false
    private var remembered: (type: Any.Type, value: any Sendable)?

    init(head: HTTPResponse, bytes: ByteBuffer, kept: DerivedValues?, reading: ContentReading) {
        self.head = head
        self.bytes = bytes
        self.kept = kept
        self.reading = reading
    }

    var target: MessageTarget { reading.target }
    /// The content for errors: as it came, or decompressed where it has been.
    var bytesForErrors: [UInt8] { processed.map { Array($0.data) } ?? Array(bytes.readableBytesView) }

    /// The content decoded; what was decoded before is not decoded again.
    func value<Value: Decodable & Sendable>(_ type: Value.Type) throws -> Value {
        guard let kept, let identity = reading.identity else { return try decoded(type) }
        if let value = kept.value(type, madeBy: identity) { return value }
        let content = try content()
        let value = try content.decode(type)
        kept.keep(value, bytes: MemoryLayout<Value>.size + 2 * content.data.count, madeBy: identity)
        return value
    }

    private func decoded<Value: Decodable & Sendable>(_ type: Value.Type) throws -> Value {
        guard remembersValue else { return try content().decode(type) }
        if let remembered, remembered.type == type, let value = remembered.value as? Value { return value }
        let value = try content().decode(type)
        remembered = (type, value)
        return value
    }

    /// The content decompressed, and as the plugins have it.
    func content() throws -> ResponseContent {
        if let processed { return processed }
        let bytes = try bytes.decoded(codings: head.headerFields, upTo: reading.maximumBodyBytes, of: target)
        var content = ResponseContent(
            head: head,
            data: Data(bytes.readableBytesView),
            decoding: reading.decoding,
            target: target
        )
        for processor in reading.processors { try processor.process(&content, for: reading.info) }
        processed = content
        return content
    }

    /// Looks at status and content as the call's validations say.
    func look() throws {
        let content = try content()
        guard reading.acceptedStatuses.contains(content.head.status) else {
            throw HoldfastError(refused: content.head.status, target: target.description, body: Array(content.data))
        }
        for check in reading.checks { try step("A validation") { try check(content) } }
    }

    /// Refuses content that says itself that the request failed, where its value does not show that
    /// by being none: an envelope by its own type, or bytes that are the client's envelope.
    ///
    /// - Throws: ``HoldfastError`` with code `envelope` or `decodingFailed`.
    func refuseFailure<Decoded: Decodable & Sendable>(_ type: Decoded.Type) throws {
        if type is any EnvelopedContent.Type {
            _ = try (value(type) as? any EnvelopedContent)?.validate()
        } else if type == Data.self {
            try content().refuseFailure()
        } else if type == Content.self || type == EnvelopeResult.self {
            try content().checkEnvelope()
        }
    }

    /// The value that a call makes of it.
    func interpreted<Value>(_ interpret: (ContentReader) throws -> Value) throws -> Value {
        try step("A step") { try interpret(self) }
    }

    /// What the caller's code throws says that the content is not what it should be.
    private func step<Value>(_ what: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as HoldfastError {
            throw error
        } catch {
            throw HoldfastError(
                code: error is DecodingError ? .decodingFailed : .dataFormat,
                message: "\(what) refused the content of '\(target)': \(type(of: error)).",
                status: head.status,
                body: bytesForErrors,
                cause: error
            )
        }
    }
}
