import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// One download: asks, writes, and goes on where it broke off, until the file is whole.
struct Download<Value: Sendable>: Sendable {
    let client: CachingClient
    let call: Call<Value>
    let prepared: PreparedCall
    let target: TargetURI
    let file: PartFile
    let policy: RetryPolicy
    /// Bytes that are accepted; no limit but the endpoint's or the call's own.
    let limit: Int?
    var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// Whether parts are asked for. What goes through the store is asked for whole.
    private var isResumable: Bool { prepared.request.storage == .never }

    func run() async throws -> (length: Int64, resumedFrom: Int64, response: CacheResponse) {
        var retries = 0
        var resumedFrom: Int64?
        while true {
            let part = isResumable ? try await file.resumable(target) : nil
            let response = try await ask(for: part)
            let decision = DownloadDecision(
                after: response.head,
                bodyLength: response.body.length,
                resuming: part,
                accepted: prepared.reading.acceptedStatuses
            )
            switch decision {
            case .refuse: throw await prepared.reading.refusal(response)
            case .askForWhole: try await file.begin(nil)
            case .isWhole:
                let length = part?.length ?? 0
                try await file.finish(length: length)
                return (length, resumedFrom ?? length, response)
            case .write(let offset, let total):
                // Only what was there before this download counts.
                if resumedFrom == nil || offset == 0 { resumedFrom = offset }
                if offset == 0 { try await begin(response, total: total) }
                do {
                    let length = try await write(response, from: offset, total: total)
                    guard let total, length < total else {
                        try await file.finish(length: length)
                        return (length, resumedFrom ?? 0, response)
                    }
                    // A shorter part than was asked for is no failure. The rest is asked for.
                    guard length > offset, response.head.status == .partialContent else {
                        throw BodyStreamError.truncated(expected: total, received: length)
                    }
                } catch {
                    try Task.checkCancellation()
                    guard
                        case .again(let delay) = policy.decision(
                            after: error.asBroken,
                            isIdempotent: call.endpoint.isIdempotent,
                            retries: retries,
                            jitter: jitter()
                        )
                    else { throw error }
                    retries += 1
                    try await client.sleeper.sleep(for: delay)
                }
            }
        }
    }

    private func ask(for part: ResumablePart?) async throws -> CacheResponse {
        var (request, _) = client.checked(prepared, call)
        // A file may be long, and is no value: only what a call's validations or envelope say of it
        // counts.
        if request.contentCheck?.isForReplacements == true { request.contentCheck = nil }
        if request.storage != .never { request.goodDataGuard = client.configuration.goodDataGuard }
        adjust(&request, part)
        return try await client.respond(to: request, call, prepared) { adjust(&$0, part) }
    }

    private func adjust(_ request: inout CacheRequest, _ part: ResumablePart?) {
        request.storage = prepared.request.storage
        request.preference = isResumable ? .networkOnly : call.endpoint.strategy.preference
        // Without the field any coding would do for the origin. RFC 9110 §12.5.3
        if !request.head.headerFields.contains(.acceptEncoding) {
            request.head.headerFields[.acceptEncoding] = "identity"
        }
        guard let part else { return }
        request.head.headerFields[.range] = "bytes=\(part.length)-"
        request.head.headerFields[.ifRange] = part.record.validator
    }

    private func begin(_ response: CacheResponse, total: Int64?) async throws {
        if let limit, let total, total > Int64(limit) { throw BodyStreamError.tooLarge(limit: limit) }
        let isPart = response.head.status == .partialContent
        let record = DownloadRecord(response.head, of: target, length: total, now: client.clock.now())
        try await file.begin(isResumable && !isPart ? record : nil)
    }

    /// Writes a response's content from an offset on.
    ///
    /// - Returns: where it ended.
    private func write(_ response: CacheResponse, from offset: Int64, total: Int64?) async throws -> Int64 {
        var body = response.body
        if let handler = call.options.onProgress {
            body = body.arriving(after: offset, total: total, handler)
        }
        var written = offset
        var waiting = ByteBuffer()
        do {
            for try await chunk in body {
                let length = written + Int64(waiting.readableBytes + chunk.readableBytes)
                if let limit, length > Int64(limit) { throw BodyStreamError.tooLarge(limit: limit) }
                // More than was announced would be another file.
                if let total, length > total {
                    throw BodyStreamError.truncated(expected: total, received: length)
                }
                waiting.writeImmutableBuffer(chunk)
                guard waiting.readableBytes >= PartFile.chunkSize else { continue }
                try await file.write(waiting, at: written)
                written += Int64(waiting.readableBytes)
                waiting.clear()
            }
        } catch {
            // What came is kept, for whoever goes on; also when the download was cancelled, so it
            // is not waited for.
            if !(error is HoldfastError) { try file.writeNow(waiting, at: written) }
            throw error
        }
        // A body that was cancelled may end as if it were whole.
        try Task.checkCancellation()
        try await file.write(waiting, at: written)
        return written + Int64(waiting.readableBytes)
    }
}

extension Error {
    /// A body that ended too early is a connection that closed too early.
    fileprivate var asBroken: any Error {
        guard let error = self as? BodyStreamError, case .truncated = error else { return self }
        return TransportError(code: .connectionClosed, message: "The response broke off.", cause: self)
    }
}
