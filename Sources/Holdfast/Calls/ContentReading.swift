import HTTPCache
import HTTPTypes
import HoldfastContent
import NIOCore

/// The settings for reading the content of one call's responses: the accepted statuses, the checks
/// and the decoding.
///
/// A class, because the settings are large and are passed around often.
final class ContentReading: Sendable {
    let decoding: ContentDecoding
    let acceptedStatuses: AcceptedStatuses
    let maximumBodyBytes: Int
    let checks: [@Sendable (ResponseContent) throws -> Void]
    let processors: [any ProcessingPlugin]
    let info: CallInfo
    /// The identity of the decoding. A value derived from a stored response is reused only for the
    /// same decoding. If the identity is `nil`, the value is not kept.
    let identity: DecodingIdentity?
    let target: MessageTarget
    /// Receives progress for content from the network.
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

    /// Reads a complete response and turns it into a value. Runs on the caller's thread, outside
    /// all actors.
    ///
    /// - Parameter judgement: the result of the check, if the response was checked before it was
    ///   stored.
    /// - Throws: `HoldfastError`, `TransportError`, `BodyStreamError`, or the error of a step.
    func read<Value: Sendable>(
        _ response: CacheResponse,
        _ interpret: Call<Value>.Interpret,
        _ judgement: Judgement<Value>? = nil
    ) async throws -> Delivery<Value> {
        // Plugins may turn a rejected response into a success. Without plugins, the head determines
        // the outcome before the content arrives.
        if processors.isEmpty, !acceptedStatuses.contains(response.head.status) {
            throw await rejection(of: response)
        }
        if let value = try readAtOnce(response, interpret) { return value }
        let bytes = try await response.reportingDownload(onProgress).collect(upTo: maximumBodyBytes)
        if let judged = judgement?.take(of: response.head, bytes) {
            return delivery(Emission(try judged.get(), of: response), bytes, of: response)
        }
        return try value(of: bytes, response, interpret)
    }

    /// Returns the content of a response, up to the length that ``read(_:_:)`` uses.
    func content(of response: CacheResponse) async throws -> ByteBuffer {
        guard processors.isEmpty, !acceptedStatuses.contains(response.head.status) else {
            return try await response.body.collect(upTo: maximumBodyBytes)
        }
        return await response.body.beginning(upTo: min(maximumBodyBytes, Self.errorBodyLimit))
    }

    /// Reads a response whose content is already in memory, without suspending. Returns `nil` for
    /// all other responses, and for responses with a rejected status.
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
        // The value is decoded once, and kept for as long as the stored response is in memory.
        let resident = response.residentContent
        let reader = ContentReader(
            head: response.head,
            bytes: bytes,
            kept: resident?.body == bytes ? resident?.derived : nil,
            reading: self
        )
        if !processors.isEmpty || !checks.isEmpty { try reader.runChecks() }
        return delivery(Emission(try reader.interpreted(interpret), of: response), bytes, of: response)
    }

    /// Whether a previously derived value equals the value that this read would produce.
    var mayRecall: Bool { processors.isEmpty && checks.isEmpty && identity != nil }

    /// Returns the value that was previously derived from a response in memory. Returns `nil` if
    /// there is none, or if a plugin or check must see the content on every read.
    func recallValue<Value: Sendable>(
        _ response: CacheResponse,
        _ recall: Call<Value>.Recall
    ) -> Delivery<Value>? {
        guard mayRecall, let identity, acceptedStatuses.contains(response.head.status),
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
            isInvalidated: response.redirects?.isInvalidated == true
                || response.source == .store && response.stored?.head.isInvalidated == true,
            codings: response.head.headerFields.codings,
            limit: maximumBodyBytes,
            redirects: response.redirects
        )
    }

    /// Returns the error for a rejected response. It includes the start of the content, enough for
    /// a person to read.
    func rejection(of response: CacheResponse) async -> HoldfastError {
        let body = await response.body.beginning(upTo: min(maximumBodyBytes, Self.errorBodyLimit))
        let content = try? body.decoded(codings: response.head.headerFields, upTo: Self.errorBodyLimit, of: target)
        return HoldfastError(
            rejectedStatus: response.head.status,
            target: target.description,
            body: Array((content ?? body).readableBytesView)
        )
    }
}

extension BodyStream {
    /// Returns the first bytes, up to the limit or to the point where the body broke off.
    fileprivate func beginning(upTo limit: Int) async -> ByteBuffer {
        var beginning = ByteBuffer()
        do {
            for try await chunk in self {
                beginning.writeBytes(chunk.readableBytesView.prefix(limit - beginning.readableBytes))
                if beginning.readableBytes == limit { break }
            }
        } catch {
            // The bytes received so far are still useful.
        }
        return beginning
    }
}

extension CacheResponse {
    /// The content of the served stored response, if it is in memory.
    fileprivate var residentContent: ResidentContent? { head.status == stored?.head.status ? stored?.content : nil }
}

extension HTTPFields {
    /// The `Content-Encoding` field.
    fileprivate var codings: HTTPFields {
        guard contains(.contentEncoding) else { return [:] }
        return HTTPFields(self[fields: .contentEncoding])
    }
}
