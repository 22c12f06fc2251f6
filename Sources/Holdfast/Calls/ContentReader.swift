import HTTPCache
import HTTPTypes
import HoldfastContent
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The content of one response, for the steps that turn it into a value. Each read of the response
/// has its own reader.
final class ContentReader {
    let head: HTTPResponse
    /// The content as received.
    let bytes: ByteBuffer
    /// Values that were previously derived from the same stored content.
    private let kept: DerivedValues?
    private let reading: ContentReading
    private var processed: ResponseContent?
    /// Whether a decoded value is remembered even if the stored content keeps no values.
    var remembersValue = false
    private var remembered: (type: Any.Type, value: any Sendable)?

    init(head: HTTPResponse, bytes: ByteBuffer, kept: DerivedValues?, reading: ContentReading) {
        self.head = head
        self.bytes = bytes
        self.kept = kept
        self.reading = reading
    }

    var target: MessageTarget { reading.target }
    /// The content for error messages: decompressed if that is already done, otherwise as received.
    var bytesForErrors: [UInt8] { processed.map { Array($0.data) } ?? Array(bytes.readableBytesView) }

    /// Returns the decoded content. A value that was already decoded is not decoded again.
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

    /// Returns the content, decompressed and processed by the plugins.
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

    /// Runs the call's checks on the status and the content.
    func runChecks() throws {
        let content = try content()
        guard reading.acceptedStatuses.contains(content.head.status) else {
            throw HoldfastError(
                rejectedStatus: content.head.status,
                target: target.description,
                body: Array(content.data)
            )
        }
        for check in reading.checks { try step("A validation") { try check(content) } }
    }

    /// Rejects content that reports a failure that its value does not show: content whose type is
    /// an envelope, or bytes in the client's envelope.
    ///
    /// - Throws: `HoldfastError` with code `envelope` or `decodingFailed`.
    func rejectFailure<Decoded: Decodable & Sendable>(_ type: Decoded.Type) throws {
        if type is any EnvelopedContent.Type {
            _ = try (value(type) as? any EnvelopedContent)?.validate()
        } else if type == Data.self {
            try content().rejectFailure()
        } else if type == RawContent.self || type == EnvelopeResult.self {
            try content().checkEnvelope()
        }
    }

    /// Returns the value that a call derives from the content.
    func interpreted<Value>(_ interpret: (ContentReader) throws -> Value) throws -> Value {
        try step("A step") { try interpret(self) }
    }

    /// Runs the caller's code. An error from it means that the content is malformed.
    private func step<Value>(_ what: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as HoldfastError {
            throw error
        } catch {
            throw HoldfastError(
                code: error is DecodingError ? .decodingFailed : .dataFormat,
                message: "\(what) rejected the content of '\(target)': \(type(of: error)).",
                status: head.status,
                body: bytesForErrors,
                cause: error
            )
        }
    }
}
