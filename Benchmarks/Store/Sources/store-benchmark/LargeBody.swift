import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore

/// Writes and reads one large body as it streams through an exchange: 64 KiB at a time.
enum LargeBody {
    /// - Parameters, from `options`: those of ``Store``, and `length` in bytes.
    @concurrent
    static func measureWriting(_ options: Options) async throws -> Report {
        let store = try await Store.open(options)
        let length = try options.number("length")
        let responses = store.responses
        let content = Content.response(0, count: 0)
        let draft = ResponseDraft(
            key: try Content.responseKey(1 << 40),
            head: StoredResponseHead(
                status: .ok,
                fields: content.fields,
                requestTime: Timestamp(seconds: 1_772_366_400),
                responseTime: Timestamp(seconds: 1_772_366_400)
            ),
            freshUntil: .distantFuture,
            isUsableStale: true,
            expectedLength: StatedLength(clamping: length),
            storedAt: Timestamp(seconds: 1_772_366_400)
        )
        let chunk = ByteBuffer(bytes: Content.bytes(1, count: 1 << 16))
        let before = ResidentMemory.present
        ResidentMemory.resetPeak()
        let watch = Stopwatch()
        guard let writer = try await responses.beginWrite(draft, fencingNumber: responses.invalidationSequence) else {
            throw BenchmarkError("The store declined.")
        }
        var written = 0
        while written < length {
            // Copied, like bytes from a socket: otherwise all chunks would share the same memory.
            let part = ByteBuffer(bytes: chunk.readableBytesView.prefix(length - written))
            written += part.readableBytes
            try await writer.append(part)
        }
        guard try await writer.finish() != nil else { throw BenchmarkError("It was not stored.") }
        var report = watch.report(count: length)
        report["growth"] = ResidentMemory.peak - before
        try await store.close()
        return report
    }

    /// - Parameters, from `options`: those of ``Store``.
    @concurrent
    static func measureReading(_ options: Options) async throws -> Report {
        let store = try await Store.open(options)
        let responses = store.responses
        guard let response = try await responses.lookup(try Content.responseKey(1 << 40)).first else {
            throw BenchmarkError("The body is not there.")
        }
        let before = ResidentMemory.present
        ResidentMemory.resetPeak()
        let watch = Stopwatch()
        guard let body = try await responses.openBody(of: response) else { throw BenchmarkError("The body is gone.") }
        var length = 0
        for try await chunk in body { length += chunk.readableBytes }
        guard Int64(length) == response.bodyLength else { throw BenchmarkError("The body is not whole.") }
        var report = watch.report(count: length)
        report["growth"] = ResidentMemory.peak - before
        try await store.close()
        return report
    }
}
