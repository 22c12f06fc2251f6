import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// The part of an exchange that may wait. It runs in the exchange's task, whose executor is the
/// event loop.
extension ClientExchange {
    /// The source of a response.
    enum ResponseSource: Sendable {
        /// The engine, for a request without preparation.
        case request
        /// The engine, continuing where the event loop had to stop.
        case attempt(ExchangeAttempt)
        /// An existing response.
        case response(CacheResponse)
        /// The engine, for a request for another protocol.
        case upgrade(UpgradeAttempt)
    }

    /// Waits for the response and writes it. Returns when that is done, or when the client has
    /// disconnected.
    func respond(from source: ResponseSource) async {
        let context = responseContext
        do {
            let response: CacheResponse
            do {
                response = try await self.response(from: source, context)
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                try await enterLoop()
                return finish(with: session.service.response(to: error, context))
            }
            if case .upgrade(let attempt) = source, attempt.concerns(response.head.status) {
                try await enterLoop()
                do {
                    return try startTunnel(response, attempt, context)
                } catch let rejection as GatewayService.Rejection {
                    return finish(with: session.service.response(to: rejection, context))
                }
            }
            try await send(response, context)
        } catch {
            await abortIfOpen()
        }
    }

    /// Aborts the response unless the exchange is over. The client has disconnected, or the content
    /// was cut short, so the response must not look complete.
    private func abortIfOpen() async {
        if (try? await enterLoop()) != nil { abort() }
    }

    private func response(
        from source: ResponseSource,
        _ context: GatewayService.ResponseContext
    ) async throws -> CacheResponse {
        let engine = session.service.engine
        switch source {
        case .request:
            return try await engine.respond(to: session.service.cacheRequest(for: self, context.inForce))
        case .attempt(let attempt): return try await engine.respond(to: attempt)
        case .response(let response): return response
        case .upgrade(let attempt):
            let service = session.service
            let request = try service.upgradeRequest(for: self, context.inForce, attempt.offer, attempt.key)
            return try await engine.respond(to: request)
        }
    }

    func send(_ response: CacheResponse, _ context: GatewayService.ResponseContext) async throws {
        let facts = ExchangeFacts(response)
        var head = session.service.responseHead(response.head, facts, context)
        try await enterLoop()
        if facts.outcome.isHit { record.tier = response.stored?.content?.body == nil ? .disk : .memory }
        switch rewriteHead(&head, stored: response.stored?.head) {
        case .rewritten:
            guard let whole = response.body.whole, isShort(whole) else {
                return try await streamRewritten(head, response.body)
            }
            return finish(with: .whole(head, try await rewriteInPieces(whole, of: head)))
        // In a new task, because this one holds the partial response, and with it an origin permit.
        case .partial where rangeUse != .ignored:
            rangeUse = .ignored
            return startTask(for: .request)
        case .maybePartial where rangeUse == .asRequested:
            return startTask { await self.settleRange() }
        case .unchanged, .partial, .maybePartial: break
        }
        if let whole = response.body.whole { return finish(with: .whole(head, whole)) }
        let length = response.body.length ?? ContentLength(head.response.headerFields).bytes
        startStream(head, length: length)
        let body = response.body
        guard response.source == .store else { return try await write(body) }
        // In a new task, because this task keeps the 32 KiB that it used to find the response, and
        // a client may read for a long time.
        startTask {
            do {
                try await self.write(body)
            } catch {
                await self.abortIfOpen()
            }
        }
    }

    private func write(_ body: BodyStream) async throws {
        for try await piece in body {
            try await enterLoop()
            try await write(piece)?.get()
        }
        try await enterLoop()
        finishStream(body.trailers)
    }

    /// Moves the task to the event loop if it is elsewhere. Tasks call this function after every
    /// wait.
    ///
    /// - Throws: `CancellationError` if the exchange is over.
    func enterLoop() async throws {
        if !eventLoop.inEventLoop { try await eventLoop.submit {}.get() }
        eventLoop.assertInEventLoop()
        if isOver { throw CancellationError() }
    }
}
