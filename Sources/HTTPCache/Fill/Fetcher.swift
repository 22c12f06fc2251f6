import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Runs one fill: sends the request, decides on the head, stores and shares the body.
struct Fetcher: Sendable {
    let engine: CacheEngine
    let request: CacheRequest
    /// The request's head as variants are selected by it.
    let selecting: HTTPRequest
    let key: CacheKey
    var fetch: ExchangeMachine.Fetch
    let fence: InvalidationSequence
    let hasStoredSuccess: Bool

    /// The same fetch without the cache's validators.
    var unconditional: Fetcher {
        var fetcher = self
        fetcher.fetch = ExchangeMachine.Fetch(request: request.head, validating: nil, reason: fetch.reason)
        return fetcher
    }

    @concurrent
    func run(_ fill: Fill) async {
        do {
            try await fetch(fill)
        } catch {
            engine.fills.detach(fill, key)
            fill.publish(.failed(Task.isCancelled ? CancellationError() : error))
        }
        engine.fills.end(fill, key)
    }

    private func fetch(_ fill: Fill) async throws {
        let requestTime = engine.clock.now()
        let response = try await engine.transport.send(request.sending(fetch.request))
        let responseTime = engine.clock.now()
        let context = FillContext(
            presented: request,
            selecting: selecting,
            key: key,
            validating: fetch.validating,
            hasStoredSuccess: hasStoredSuccess,
            requestTime: requestTime,
            policy: engine.policy
        )
        switch context.decide(response.head, at: responseTime) {
        case .freshen(let stored, let head):
            let current = await freshen(stored, head)
            engine.fills.detach(fill, key)
            fill.publish(.validated(current))
        case .askAgain:
            try await unconditional.fetch(fill)
        case .passThrough:
            engine.fills.detach(fill, key)
            fill.publish(.unshared(response, responseTime: responseTime))
        case .store(let draft):
            await store(response, draft, fill)
        }
    }

    /// The stored response under its new head; where the store cannot keep that, this exchange still uses it.
    private func freshen(_ stored: StoredResponse, _ head: StoredResponseHead) async -> StoredResponse {
        let policy = engine.policy
        let updated = await engine.recovering("freshen") {
            try await engine.store.freshen(
                stored,
                with: ResponseDraft(
                    key: stored.key,
                    head: head,
                    freshUntil: policy.freshUntil(head),
                    isUsableStale: policy.isUsableStale(head),
                    expectedLength: stored.bodyLength,
                    storedAt: stored.storedAt
                ),
                fence: fence
            )
        }
        if let updated, let response = updated { return response }
        var response = stored
        response.head = head
        return response
    }

    private func store(_ response: TransportResponse, _ draft: ResponseDraft, _ fill: Fill) async {
        let writer =
            await engine.recovering("beginWrite") { try await engine.store.beginWrite(draft, fence: fence) } ?? nil
        // What is not stored is shared only where it fits into memory whole, so that no caller waits for another's reading.
        guard writer != nil || draft.expectedLength.map({ $0 <= SharedBody.windowLimit }) == true else {
            engine.fills.detach(fill, key)
            return fill.publish(.unshared(response, responseTime: draft.storedAt))
        }
        let body = SharedBody(length: draft.expectedLength, writer: writer) { [weak fill] in fill?.cancel() }
        fill.publish(.shared(draft.head, response.head, body))
        do {
            var received: Int64 = 0
            for try await chunk in response.body {
                received += Int64(chunk.readableBytes)
                guard await body.append(chunk) else { throw CancellationError() }
            }
            if let expected = draft.expectedLength, expected != received {
                throw BodyStreamError.truncated(expected: expected, received: received)
            }
            // The store commits before the readers see the end: who has read a response whole finds it stored.
            if let writer, body.isStoring {
                if engine.fills.claimStoring(fill, key) {
                    _ = await engine.recovering("finish") { try await writer.finish() }
                } else {
                    await writer.abandon()
                }
            }
            body.finish()
        } catch {
            // What broke off is never stored.
            await writer?.abandon()
            body.finish(throwing: error)
        }
    }
}
