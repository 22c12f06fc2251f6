import HTTPCache
import HTTPTypes
import NIOCore

/// How the content of one call's responses is read: which statuses are a success, what looks at it,
/// and how it becomes a value.
///
/// A class, because it is handed on many times and holds much.
final class ContentReading: Sendable {
    let decoding: ContentDecoding
    let acceptedStatuses: AcceptedStatuses
    let maximumBodyBytes: Int
    let checks: [@Sendable (ResponseContent) throws -> Void]
    let processors: [any ProcessingPlugin]
    let info: CallInfo
    /// Whose decoding it is: what it made of a stored response is kept for the same decoding alone.
    /// `nil`: it is not kept.
    let identity: DecodingIdentity?
    let target: MessageTarget
    /// Hears of what comes over the wire.
    let onProgress: TransferProgress.Handler?

    init(
        decoding: ContentDecoding,
        acceptedStatuses: AcceptedStatuses,
        maximumBodyBytes: Int,
        checks: [@Sendable (ResponseContent) throws -> Void],
        processors: [any ProcessingPlugin],
        info: CallInfo,
        identity: DecodingIdentity?,
        target: MessageTarget,
        onProgress: TransferProgress.Handler?
    ) {
        self.decoding = decoding
        self.acceptedStatuses = acceptedStatuses
        self.maximumBodyBytes = maximumBodyBytes
        self.checks = checks
        self.processors = processors
        self.info = info
        self.identity = identity
        self.target = target
        self.onProgress = onProgress
    }

    private static let errorBodyLimit = 1 << 20

    /// Reads a response to its end and makes a value of it, where it is called: off every actor.
    ///
    /// - Parameter judgement: what was made of it before it was stored, where it was looked at.
    /// - Throws: ``HoldfastError``, `TransportError`, `BodyStreamError`, or what a step threw.
    func read<Value: Sendable>(
        _ response: CacheResponse,
        _ interpret: Call<Value>.Interpret,
        _ judgement: Judgement<Value>? = nil
    ) async throws -> Delivery<Value> {
        // What the plugins make of it may be a success; without them the head decides before the
        // content comes.
        if processors.isEmpty, !acceptedStatuses.contains(response.head.status) {
            throw await refusal(response)
        }
        if let value = try readAtOnce(response, interpret) { return value }
        let bytes = try await response.arriving(onProgress).collect(upTo: maximumBodyBytes)
        if let judged = judgement?.take(of: response.head, bytes) {
            return delivery(Emission(try judged.get(), of: response), bytes, of: response)
        }
        return try value(of: bytes, response, interpret)
    }

    /// As much of a response's content as ``read(_:_:)`` looks at.
    func content(of response: CacheResponse) async throws -> ByteBuffer {
        guard processors.isEmpty, !acceptedStatuses.contains(response.head.status) else {
            return try await response.body.collect(upTo: maximumBodyBytes)
        }
        return await response.body.beginning(upTo: min(maximumBodyBytes, Self.errorBodyLimit))
    }

    /// The same for a response whose content is in memory already; `nil` for others, and for those
    /// that are refused by their status.
    func readAtOnce<Value: Sendable>(
        _ response: CacheResponse,
        _ interpret: Call<Value>.Interpret
    ) throws -> Delivery<Value>? {
        guard !processors.isEmpty || acceptedStatuses.contains(response.head.status),
            let bytes = response.residentContent?.body, bytes.readableBytes <= maximumBodyBytes
        else { return nil }
        return try value(of: bytes, response, interpret)
    }

    private func value<Value: Sendable>(
        of bytes: ByteBuffer,
        _ response: CacheResponse,
        _ interpret: Call<Value>.Interpret
    ) throws -> Delivery<Value> {
        // Decoded once, for as long as the stored response is in memory.
        let resident = response.residentContent
        let reader = ContentReader(
            head: response.head,
            bytes: bytes,
            kept: resident?.body == bytes ? resident?.derived : nil,
            reading: self
        )
        if !processors.isEmpty || !checks.isEmpty { try reader.look() }
        return delivery(Emission(try reader.interpreted(interpret), of: response), bytes, of: response)
    }

    /// Whether a value that was made before is what this reading would make.
    var isRecalling: Bool { processors.isEmpty && checks.isEmpty && identity != nil }

    /// The value that was made of a response in memory before; `nil` where none was, or somebody
    /// wants to look at the content each time.
    func recalled<Value: Sendable>(
        _ response: CacheResponse,
        _ recall: Call<Value>.Recall
    ) -> Delivery<Value>? {
        guard isRecalling, let identity, acceptedStatuses.contains(response.head.status),
            let content = response.residentContent, let bytes = content.body, bytes.readableBytes <= maximumBodyBytes,
            let value = recall(content.derived, identity)
        else { return nil }
        return delivery(Emission(value, of: response), bytes, of: response)
    }

    private func delivery<Value: Sendable>(
        _ emission: Emission<Value>,
        _ bytes: ByteBuffer,
        of response: CacheResponse
    ) -> Delivery<Value> {
        Delivery(
            emission: emission,
            bytes: bytes,
            bodyID: response.stored?.bodyID,
            receivedAt: response.stored?.head.responseTime,
            isInvalidated: response.source == .store && response.stored?.head.isInvalidated == true,
            codings: response.head.headerFields.codings,
            limit: maximumBodyBytes
        )
    }

    /// Of an answer that is refused, as much is kept as a person would read.
    func refusal(_ response: CacheResponse) async -> HoldfastError {
        let body = await response.body.beginning(upTo: min(maximumBodyBytes, Self.errorBodyLimit))
        let content = try? body.decoded(codings: response.head.headerFields, upTo: Self.errorBodyLimit, of: target)
        return HoldfastError(
            refused: response.head.status,
            target: target.description,
            body: Array((content ?? body).readableBytesView)
        )
    }
}

extension BodyStream {
    /// The first bytes, as many as there may be, or as came before it broke off.
    fileprivate func beginning(upTo limit: Int) async -> ByteBuffer {
        var beginning = ByteBuffer()
        do {
            for try await chunk in self {
                beginning.writeBytes(chunk.readableBytesView.prefix(limit - beginning.readableBytes))
                if beginning.readableBytes == limit { break }
            }
        } catch {
            // What came is still worth reading.
        }
        return beginning
    }
}

extension CacheResponse {
    /// The content of the stored response that answers, where memory has it.
    fileprivate var residentContent: ResidentContent? { head.status == stored?.head.status ? stored?.content : nil }
}

extension HTTPFields {
    /// The `Content-Encoding` among them.
    fileprivate var codings: HTTPFields {
        guard contains(.contentEncoding) else { return [:] }
        return HTTPFields(self[fields: .contentEncoding])
    }
}

/// Nothing but who it is.
final class DecodingIdentity: Sendable {}
