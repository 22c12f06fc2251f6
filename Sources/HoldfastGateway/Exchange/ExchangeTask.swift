import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// The part of an exchange that may wait. It runs in the exchange's task, whose executor is the
/// event loop.
struct ExchangeTask: Sendable {
    /// The source of a response.
    enum Source: Sendable {
        /// The engine, for a request without preparation.
        case request
        /// The engine, continuing where the event loop had to stop.
        case attempt(ExchangeAttempt)
        /// An existing response, and whether identical requests may get it too.
        case response(CacheResponse, HotCandidate? = nil)
        /// The engine, for a request for another protocol.
        case upgrade(UpgradeAttempt)
    }

    /// How a request's range is used, if it has one.
    enum RangeUse {
        case asRequested
        /// The range is ignored: the client gets the complete content, because it is transformed.
        case ignored
        /// The range is used as requested, because the content is not transformed.
        case settled
    }

    let exchange: ClientExchange

    private var service: GatewayService { exchange.session.service }

    /// Waits for the response and writes it. Returns when that is done, or when the client has
    /// disconnected.
    func respond(from source: Source) async {
        let context = exchange.responseContext
        do {
            let response: CacheResponse
            do {
                response = try await self.response(from: source, context)
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                try await exchange.enterLoop()
                return exchange.finish(with: exchange.response(to: error, context))
            }
            if case .upgrade(let attempt) = source, attempt.concerns(response.head.status) {
                try await exchange.enterLoop()
                do {
                    return try attempt.startTunnel(for: exchange, response, context)
                } catch let rejection as GatewayService.Rejection {
                    return exchange.finish(with: exchange.response(to: rejection, context))
                }
            }
            let candidate: HotCandidate? = if case .response(_, let candidate) = source { candidate } else { nil }
            try await send(response, candidate, context)
        } catch {
            await abortIfOpen(after: error)
        }
    }

    /// Aborts the response unless the exchange is over. The client has disconnected, or the content
    /// was cut short, so the response must not look complete.
    private func abortIfOpen(after error: any Error) async {
        if (try? await exchange.enterLoop()) != nil { exchange.abort(after: error) }
    }

    private func response(
        from source: Source,
        _ context: GatewayService.ResponseContext
    ) async throws -> CacheResponse {
        let (service, engine) = (service, service.engine)
        switch source {
        case .request:
            return try await engine.respond(to: service.cacheRequest(for: exchange, context.inForce))
        case .attempt(let attempt): return try await engine.respond(to: attempt)
        case .response(let response, _): return response
        case .upgrade(let attempt):
            let request = try service.upgradeRequest(for: exchange, context.inForce, attempt.offer, attempt.key)
            return try await engine.respond(to: request)
        }
    }

    private func send(
        _ response: CacheResponse,
        _ candidate: HotCandidate?,
        _ context: GatewayService.ResponseContext
    ) async throws {
        let facts = ExchangeFacts(response)
        var head = service.responseHead(response.head, facts, context)
        try await exchange.enterLoop()
        if facts.outcome.isHit { exchange.record.tier = response.stored?.content?.body == nil ? .disk : .memory }
        switch exchange.plan(&head, of: response) {
        case .chain(let chain):
            guard let whole = response.body.whole, chain.sendsWhole(whole.readableBytes, isHit: candidate != nil) else {
                return try await stream(head, response, through: chain)
            }
            let content = try await transform(whole, by: chain)
            return exchange.finish(head, content, candidate)
        // In a new task, because this one holds the partial response, and with it an origin permit.
        case .partial where exchange.rangeUse != .ignored:
            exchange.rangeUse = .ignored
            return exchange.startTask(for: .request)
        case .maybePartial where exchange.rangeUse == .asRequested:
            return exchange.startTask { await self.settleRange() }
        case .unchanged, .partial, .maybePartial: break
        }
        if let whole = response.body.whole { return exchange.finish(head, whole, candidate) }
        let length = response.body.length ?? ContentLength(head.response.headerFields).bytes
        exchange.startStream(head, length: length)
        let body = response.body
        guard response.source == .store else { return try await write(body) }
        // In a new task, because this task keeps the 32 KiB that it used to find the response, and
        // a client may read for a long time.
        exchange.startTask {
            do {
                try await self.write(body)
            } catch {
                await self.abortIfOpen(after: error)
            }
        }
    }

    private func write(_ body: BodyStream) async throws {
        for try await piece in body {
            try await exchange.enterLoop()
            try await exchange.write(piece)?.get()
        }
        try await exchange.enterLoop()
        exchange.finishStream(body.trailers)
    }

    // MARK: Transformed content

    /// Transforms content in memory, piece by piece.
    private func transform(_ whole: ByteBuffer, by chain: ContentChain) async throws -> ByteBuffer {
        var (chain, result) = (chain, ByteBuffer())
        chain.add(whole)
        while let bytes = try chain.next() {
            result.writeImmutableBuffer(bytes)
            try await yield()
        }
        result.writeImmutableBuffer(try chain.end())
        return result
    }

    /// Writes content in pieces, each transformed as it arrives.
    private func stream(
        _ head: GatewayResponseHead,
        _ response: CacheResponse,
        through chain: ContentChain
    ) async throws {
        var chain = chain
        let content = response.body
        // The origin may send content of unknown length slowly, so the client gets all that has
        // arrived.
        let isLive = response.source == .network && content.length == nil
        exchange.startStream(head, length: nil)
        for try await chunk in content {
            try await exchange.enterLoop()
            chain.add(chunk)
            while let bytes = try chain.next() {
                if bytes.readableBytes > 0 { try await exchange.write(bytes)?.get() }
                try await yield()
            }
            guard isLive else { continue }
            let bytes = try chain.flush()
            if bytes.readableBytes > 0 { try await exchange.write(bytes)?.get() }
        }
        try await exchange.enterLoop()
        let rest = try chain.end()
        if rest.readableBytes > 0 { try await exchange.write(rest)?.get() }
        try await exchange.enterLoop()
        var trailers = content.trailers
        trailers?.dropDigests()
        exchange.finishStream(trailers)
    }

    /// Lets the loop poll its sockets if this has taken long.
    private func yield() async throws {
        await Task.yield()
        try await exchange.enterLoop()
    }

    /// Finds out whether the client needs the complete content, which a 416 does not show. Then
    /// responds to the request again.
    private func settleRange() async {
        var needsWhole = false
        do {
            var request = try await service.cacheRequest(for: exchange, exchange.responseContext.inForce)
            request.head.method = .head
            request.head.headerFields.dropRange()
            let whole = try await service.engine.respond(to: request).head
            needsWhole = exchange.transforms?.needsWhole(whole) ?? false
        } catch {
            // Nothing shows that the content is transformed, so the range is used as requested.
        }
        guard (try? await exchange.enterLoop()) != nil else { return }
        exchange.rangeUse = needsWhole ? .ignored : .settled
        await respond(from: .request)
    }
}
