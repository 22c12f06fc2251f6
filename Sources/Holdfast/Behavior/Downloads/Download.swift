import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent
import NIOCore

/// One download: sends requests, writes content, and resumes until the file is complete.
struct Download<Value: Sendable>: Sendable {
    let client: CachingClient
    let call: Call<Value>
    let prepared: PreparedCall
    let target: TargetURI
    let file: PartFile
    let policy: RetryPlan
    let retries: RetryCount
    /// The maximum number of bytes. Only the endpoint's or the call's own limit applies.
    let limit: Int?
    var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// Whether to request only the missing part. A download that uses the store requests
    /// everything.
    private var isResumable: Bool { prepared.request.storage == .never }

    func run() async throws -> (length: Int64, resumedFrom: Int64, response: CacheResponse) {
        var resumedFrom: Int64?
        while true {
            let part = isResumable ? try await file.resumable(target) : nil
            let response = try await fetch(resuming: part)
            let decision = DownloadDecision(
                after: response.head,
                bodyLength: response.body.length,
                resuming: part,
                accepted: prepared.reading.acceptedStatuses
            )
            switch decision {
            case .reject: throw await prepared.reading.rejection(of: response)
            case .fetchWhole: try await file.begin(nil)
            case .complete:
                let length = part?.length ?? 0
                try await file.finish(length: length)
                return (length, resumedFrom ?? length, response)
            case .write(let offset, let total):
                // Count only bytes from before this download.
                if resumedFrom == nil || offset == 0 { resumedFrom = offset }
                if offset == 0 { try await begin(response, total: total) }
                do {
                    let length = try await write(response, from: offset, total: total)
                    guard let total, !total.isWithin(length) else {
                        try await file.finish(length: length)
                        return (length, resumedFrom ?? 0, response)
                    }
                    // A part that is shorter than requested is not a failure. The rest is requested
                    // next.
                    guard length > offset, response.head.status == .partialContent else {
                        throw BodyStreamError.truncated(expected: total, received: StatedLength(clamping: length))
                    }
                } catch {
                    try Task.checkCancellation()
                    guard
                        case .retry(let delay) = policy.decision(
                            after: error,
                            isIdempotent: call.endpoint.isIdempotent,
                            retries: retries.value,
                            jitter: jitter()
                        )
                    else { throw error }
                    retries.increment()
                    try await client.sleeper.sleep(for: delay)
                }
            }
        }
    }

    private func fetch(resuming part: ResumablePart?) async throws -> CacheResponse {
        var (request, _) = client.makeCheckedRequest(prepared, call)
        // A file may be long, and is not decoded. Only the call's validations or envelope may
        // prevent it from being stored.
        if request.contentCheck?.isForReplacements == true { request.contentCheck = nil }
        if request.storage != .never { request.goodDataGuard = client.configuration.goodDataGuard }
        adjust(&request, part)
        return try await client.respond(to: request, call, prepared) { adjust(&$0, part) }
    }

    private func adjust(_ request: inout CacheRequest, _ part: ResumablePart?) {
        request.storage = prepared.request.storage
        request.preference = isResumable ? .networkOnly : call.endpoint.strategy.preference
        // Without this field, the origin may choose any coding. RFC 9110 §12.5.3
        if !request.head.headerFields.contains(.acceptEncoding) {
            request.head.headerFields[.acceptEncoding] = "identity"
        }
        guard let part else { return }
        request.head.headerFields[.range] = "bytes=\(part.length)-"
        request.head.headerFields[.ifRange] = part.record.validator
    }

    private func begin(_ response: CacheResponse, total: StatedLength?) async throws {
        if let limit, let total, !total.isWithin(Int64(limit)) { throw BodyStreamError.tooLarge(limit: limit) }
        let isPart = response.head.status == .partialContent
        let record = DownloadRecord(response.head, of: target, length: total, now: client.clock.now())
        try await file.begin(isResumable && !isPart ? record : nil)
    }

    /// Writes a response's content, starting at an offset.
    ///
    /// - Returns: the offset of the end of the content.
    private func write(_ response: CacheResponse, from offset: Int64, total: StatedLength?) async throws -> Int64 {
        var body = response.body
        if let handler = call.options.onProgress {
            body = body.reportingDownload(after: offset, total: total, handler)
        }
        var written = offset
        var waiting = ByteBuffer()
        do {
            for try await chunk in body {
                let length = written + Int64(waiting.readableBytes + chunk.readableBytes)
                if let limit, length > Int64(limit) { throw BodyStreamError.tooLarge(limit: limit) }
                // More content than announced belongs to another file.
                if let total, StatedLength(clamping: length) > total {
                    throw BodyStreamError.truncated(expected: total, received: StatedLength(clamping: length))
                }
                waiting.writeImmutableBuffer(chunk)
                guard waiting.readableBytes >= PartFile.chunkSize else { continue }
                try await file.write(waiting, at: written)
                written += Int64(waiting.readableBytes)
                waiting.clear()
            }
        } catch {
            // Keep the received content for a later attempt. This write does not suspend, because
            // the download may be canceled.
            if !(error is HoldfastError) { try file.writeNow(waiting, at: written) }
            throw error
        }
        // A canceled body may end as if it were complete.
        try Task.checkCancellation()
        try await file.write(waiting, at: written)
        return written + Int64(waiting.readableBytes)
    }
}
