import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Runs one in-flight fetch: sends the request, decides about the head, and stores and shares the
/// body.
struct Fetcher: Sendable {
    let engine: CacheEngine
    let prepared: PreparedRequest
    let key: CacheKey
    let plan: FetchPlan
    /// Makes other nodes wait for this fetch.
    var lease: HeldLease?

    private var storedSuccess: StoredResponse? { plan.known.success }
    private var request: CacheRequest { prepared.request }

    /// A fetcher for the same request without the cache's validators.
    private var unconditional: Fetcher {
        Fetcher(engine: engine, prepared: prepared, key: key, plan: plan.unconditional(request.head), lease: lease)
    }

    private var origin: Origin { Origin(prepared.target) }

    /// The maximum length, in bytes, of a body that is stored on the exchange's executor.
    private static let inPlaceLimit: Int64 = 256 << 10

    /// The progress of a fetch when a task takes it over.
    enum Beginning {
        case nothing
        /// The request counts among the origin's requests in progress.
        case entered
        /// The request counts as in progress, and its response has arrived and was judged.
        case judged(Judgement)
        /// The request counts as in progress, and sending it failed.
        case failed(any Error)
    }

    /// An origin's response, and the decision about it.
    struct Judgement {
        let response: TransportResponse
        let responseTime: Timestamp
        let context: FetchContext
        let decision: FetchDecision
    }

    func run(_ inFlight: InFlightFetch, from beginning: Beginning = .nothing) async {
        let origin = origin
        do {
            if case .nothing = beginning {
                try await engine.enter(origin, request.client, within: prepared.hardTimeout(engine.options))
            }
            // The next waiting request may be served from what this fetch stores, so return the
            // permit only when everything is stored.
            defer { engine.origins.leave(origin, request.client) }
            switch beginning {
            case .nothing, .entered: try await fetch(inFlight, origin)
            case .judged(let judgement): try await perform(judgement, inFlight, origin)
            case .failed(let error): throw recordFailure(error, inFlight)
            }
        } catch let overload as OriginRegistry.Overload {
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.failed(ExchangeError.overloaded(request, overload, engine.options)))
        } catch {
            engine.inFlightFetches.detach(inFlight, key)
            let isCallers = inFlight.isCancelled && !error.isSilence && !error.isOverload
            inFlight.publish(.failed(isCallers ? CancellationError() : error))
        }
        engine.inFlightFetches.end(inFlight, key)
    }

    private func fetch(_ inFlight: InFlightFetch, _ origin: Origin) async throws {
        let requestTime = engine.clock.now()
        let fencingPosition = engine.finder?.responses.position
        let response: TransportResponse
        do {
            response = try await engine.send(
                inFlight.sending(prepared.sending(plan.fetch.request), for: request),
                to: origin,
                for: prepared,
                isProbed: request.isReplayable,
                by: inFlight
            )
        } catch {
            throw recordFailure(error, inFlight)
        }
        try await perform(judge(response, requestedAt: requestTime, fencingPosition: fencingPosition), inFlight, origin)
    }

    /// Records an error that means that the origin was unreachable. Returns the error.
    private func recordFailure(_ error: any Error, _ inFlight: InFlightFetch) -> any Error {
        if (error as? TransportError)?.code.isUnreachable == true, !inFlight.isCancelled || error.isSilence {
            engine.throttle.note(.unreachable, key, at: engine.clock.now())
        }
        return error
    }

    /// Decides about a response that has arrived.
    ///
    /// - Parameter fencingPosition: the position up to which the fleet log was applied before the
    ///   request; `nil` if the response is not offered to other nodes.
    func judge(
        _ response: TransportResponse,
        requestedAt requestTime: Timestamp,
        fencingPosition: LogPosition? = nil
    ) -> Judgement {
        let responseTime = engine.clock.now()
        engine.throttle.note(response.head.status, key, at: responseTime)
        var context = FetchContext(prepared, key: key, plan, requestTime: requestTime, options: engine.options)
        context.fencingPosition = fencingPosition
        let decision = context.decide(response, at: responseTime)
        return Judgement(response: response, responseTime: responseTime, context: context, decision: decision)
    }

    /// Performs the decision.
    private func perform(_ judgement: Judgement, _ inFlight: InFlightFetch, _ origin: Origin) async throws {
        let (response, context, responseTime) = (judgement.response, judgement.context, judgement.responseTime)
        switch judgement.decision {
        case .freshen(let stored, let head):
            // An older response must not replace the response that this 304 validates.
            _ = engine.inFlightFetches.claimStoring(inFlight, key, head)
            let current = await freshen(stored, head, context, response.boundary)
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.validated(current, isForAll: true))
        case .confirm(var stored, let head):
            stored.head = head
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.validated(stored, isForAll: false))
        case .askAgain:
            try await unconditional.fetch(inFlight, origin)
        case .passThrough(let refusal):
            if !refusal.isOfThisMoment { keepFromOthers() }
            if request.head.method == .head { await update(with: response, context, responseTime) }
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.unshared(response, responseTime: responseTime, notStored: refusal))
        case .refuse(let stored):
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.refused(stored))
        case .store(var draft):
            if engine.options.usesNoVarySearch {
                let rules = NoVarySearchRules(engine: engine)
                draft = await rules.learn(from: draft, fencingNumber: plan.known.fencingNumber, response.boundary)
            }
            var storing = await writer(for: draft)
            storing.offered = (draft, context.fencingPosition)
            await store(
                response,
                draft.head,
                storing: response.head.partLength ?? draft.expectedLength,
                storing,
                inFlight
            )
        case .complete(let stored, let combined, let draft):
            await complete(stored, combined, with: response, draft, inFlight)
        case .combine(let stored, let combined, let draft):
            await combine(stored, combined, with: response, draft, context, inFlight)
        }
    }

    /// Stores the new head of a stored response, and returns the response with that head. If the
    /// store cannot keep the head, this exchange still uses it.
    ///
    /// If the new head has more tags than a store keeps, a purge would not reach the response. In
    /// that case, the stored response keeps its old head and tags, and must be validated before its
    /// next use.
    private func freshen(
        _ stored: StoredResponse,
        _ head: StoredResponseHead,
        _ context: FetchContext,
        _ boundary: MessageBoundary?
    ) async -> StoredResponse {
        if boundary?.isCrossed != true {
            var draft = context.draft(head, replacing: stored)
            let isKept = draft.hasAcceptableTags
            if !isKept {
                var former = stored.head
                former.isInvalidated = true
                draft = context.draft(former, replacing: stored)
            }
            let updated = await engine.recovering("freshen") { [draft] in
                try await engine.store.freshen(stored, with: draft, fencingNumber: plan.known.fencingNumber)
            }
            if isKept, let updated, let response = updated {
                // The old head may come from another response that was followed by extra bytes.
                var head = stored.head
                head.isInvalidated = true
                let former = context.draft(head, replacing: stored)
                await engine.undo(StoredChange(response: response, former: former), ifCrossed: boundary)
                offer(response, draft, fencingPosition: context.fencingPosition)
                return response
            }
        }
        var response = stored
        response.head = head
        return response
    }

    /// Updates the stored response to GET with the fields of a HEAD response. RFC 9111 §4.3.5
    private func update(with response: TransportResponse, _ context: FetchContext, _ responseTime: Timestamp) async {
        guard let stored = plan.fetch.selected ?? storedSuccess else { return }
        let boundary = response.boundary
        let update = prepared.policy.headUpdate(
            of: stored.head,
            bodyLength: stored.bodyLength,
            by: response.head,
            to: prepared.selecting,
            requestTime: context.requestTime,
            responseTime: responseTime,
            isForOthers: stored.key != key
        )
        switch update {
        case .freshen(let head):
            if let head = context.updating(stored, to: head) { _ = await freshen(stored, head, context, boundary) }
        case .invalidate:
            var head = stored.head
            head.isInvalidated = true
            _ = await freshen(stored, head, context, boundary)
        case .unrelated: break
        }
    }

    // MARK: Bodies

    /// A body on its way to the store, or the reason that it is not stored.
    struct Storing {
        /// The writer for the body; `nil` if the body is not stored.
        var writer: (any ResponseWriter)?
        /// The reason that the body is not stored; used only without a writer.
        var refusal = StorageRefusal.store
        /// The draft of a complete response for other nodes, and the fencing position that they
        /// compare with.
        var offered: (draft: ResponseDraft, fencingPosition: LogPosition?)?
        /// The writer that combines a part with the stored bytes.
        var combining: CombiningWriter?
        /// Whether the writer may be used on the exchange's executor: see
        /// ``ResponseStore/suspendsWhileWriting``.
        var isInPlace = false
    }

    /// Begins to store a body. The result has no writer in these cases:
    /// - the store declines
    /// - the response exceeds the limits for tags
    /// - a rule excludes bodies of this length
    /// - the caller's check cannot check this content
    func writer(for draft: ResponseDraft) async -> Storing {
        guard draft.hasAcceptableTags else { return Storing(refusal: .tags) }
        let limits = prepared.settings(for: draft.head.fields).map(BodyLimits.init)
        if let limits, !limits.allow(draft) { return Storing(refusal: .bodyLength) }
        if let check = request.contentCheck, draft.head.status.kind == .successful,
            plan.replacesStored || !check.isForReplacements, !check.allows(draft)
        {
            // A part cannot be checked, whatever its length.
            return Storing(refusal: draft.head.status == .partialContent ? .partialContent : .bodyLength)
        }
        let isInPlace = engine.store.suspendsWhileWriting
        let begun = await engine.recovering("beginWrite", suspends: isInPlace) {
            try await engine.store.beginWrite(draft, fencingNumber: plan.known.fencingNumber)
        }
        guard var writer = begun ?? nil else { return Storing() }
        if let limits, !limits.isEmpty { writer = LimitedWriter(writer, limits.remaining(for: draft)) }
        return Storing(writer: writer, isInPlace: isInPlace)
    }

    /// Returns the callers' checks that a response with this head must pass before it is stored.
    private func checks(of inFlight: InFlightFetch, for head: StoredResponseHead) async -> [ContentCheck] {
        guard head.status.code < 400 else { return [] }
        var isReplacing = plan.replacesStored
        // A response may have been stored while this fetch was in progress.
        if !isReplacing, inFlight.hasChecks { isReplacing = await hasStoredSuccess { _ in true } }
        let checks = isReplacing ? inFlight.takeChecks() : request.contentCheck.map { [$0] } ?? []
        return checks.filter { $0.isDue(for: head, isReplacing: isReplacing) }
    }

    /// Returns whether the callers' checks, if any, allow a body to be stored.
    ///
    /// A check's error belongs to its caller and may contain anything, so only its type is logged.
    private func passes(
        _ head: StoredResponseHead,
        _ storing: Storing,
        _ body: InFlightBody,
        _ inFlight: InFlightFetch
    ) async -> Bool {
        let checks = await checks(of: inFlight, for: head)
        guard !checks.isEmpty else { return true }
        do {
            let content: ByteBuffer
            if let combining = storing.combining {
                content = try await combining.content()
            } else {
                content = try await body.content()
            }
            for check in checks {
                guard content.readableBytes <= check.maximumBytes else {
                    throw BodyStreamError.tooLarge(limit: check.maximumBytes)
                }
                try await check.check(HTTPResponse(status: head.status, headerFields: head.fields), content)
            }
            return true
        } catch {
            engine.telemetry.exchanges.recordRefusedContent()
            engine.logger.debug("Content did not pass its check", metadata: ["error.type": "\(type(of: error))"])
            return false
        }
    }

    private func open(_ stored: StoredResponse, _ range: Range<Int64>) async -> BodyStream? {
        await engine.recovering("openBody", .read) { try await engine.store.openBody(of: stored, range: range) } ?? nil
    }

    /// Serves the stored beginning and the rest that was just received as one response. RFC 9111
    /// §3.4
    private func complete(
        _ stored: StoredResponse,
        _ combined: CombinedResponse,
        with response: TransportResponse,
        _ draft: ResponseDraft,
        _ inFlight: InFlightFetch
    ) async {
        var parts: [BodyStream.Part] = []
        for piece in combined.pieces {
            switch piece {
            case .stored(let range):
                guard let range = range.bytes(upTo: stored.bodyLength), let body = await open(stored, range) else {
                    // The stored beginning no longer exists, so the complete response is fetched.
                    do { return try await unconditional.fetch(inFlight, origin) } catch {
                        return inFlight.publish(.failed(error))
                    }
                }
                parts.append(.stream(body))
            case .received(let range):
                parts.append(.stream(response.body.dropping(range.lowerBound)))
            }
        }
        var head = HTTPResponse(status: .ok, headerFields: combined.head.fields)
        head.headerFields[.contentLength] = "\(combined.length)"
        var whole = TransportResponse(head: head, body: .concatenating(parts, length: combined.length))
        whole.boundary = response.boundary
        let writer = await writer(for: draft)
        await store(whole, draft.head, storing: combined.length, writer, inFlight)
    }

    /// Serves a part to its caller and completes the stored response with it. RFC 9111 §3.4
    private func combine(
        _ stored: StoredResponse,
        _ combined: CombinedResponse,
        with response: TransportResponse,
        _ draft: ResponseDraft,
        _ context: FetchContext,
        _ inFlight: InFlightFetch
    ) async {
        guard let plan = CombiningWriter.Plan(combined, of: stored) else {
            // All bytes are already stored; only the head is newer.
            _ = await freshen(stored, draft.head, context, response.boundary)
            engine.inFlightFetches.detach(inFlight, key)
            return inFlight.publish(.unshared(response, responseTime: draft.storedAt))
        }
        var before: BodyStream?
        var after: BodyStream?
        if let range = plan.before { before = await open(stored, range) }
        if let range = plan.after { after = await open(stored, range) }
        var storing = Storing()
        if (before != nil) == (plan.before != nil), (after != nil) == (plan.after != nil) {
            storing = await writer(for: draft)
            if let writer = storing.writer {
                let combining = CombiningWriter(
                    writer,
                    plan,
                    before: before,
                    after: after,
                    keepsContent: request.contentCheck != nil && draft.head.status != .partialContent
                )
                storing.writer = combining
                storing.combining = combining
            }
            // This writer also reads stored bytes, which may block.
            storing.isInPlace = false
        }
        await store(response, draft.head, storing: response.head.partLength, storing, inFlight)
    }

    /// Returns whether a response may be stored now. An error never replaces a stored success, not
    /// even a success that was stored while this fetch waited.
    private func mayReplaceStored(_ head: StoredResponseHead) async -> Bool {
        guard head.status.code >= 400 else { return true }
        var matcher = VariantMatcher(prepared.policy, prepared.selecting)
        return await !hasStoredSuccess { matcher.matches($0.head) }
    }

    /// Returns whether a success is, or may be, stored for the request now. If the store cannot be
    /// read, it may contain a success.
    private func hasStoredSuccess(that matches: (StoredResponse) -> Bool) async -> Bool {
        for key in prepared.lookupKeys {
            guard let found = await engine.lookup(key) else { return true }
            if found.contains(where: { $0.head.status.code < 400 && matches($0) }) { return true }
        }
        return false
    }

    /// Makes a stored response visible, and offers it to other nodes.
    private func commit(
        _ writer: any ResponseWriter,
        _ storing: Storing,
        isInPlace: Bool,
        _ boundary: MessageBoundary?
    ) async {
        let finished = await engine.recovering("finish", suspends: isInPlace) { try await writer.finish() }
        guard let new = finished ?? nil else { return }
        if let offered = storing.offered { offer(new, offered.draft, fencingPosition: offered.fencingPosition) }
        await engine.undo(StoredChange(response: new), ifCrossed: boundary)
    }

    /// Shares a body, and stores it if there is a writer.
    ///
    /// - Parameter storable: the length from `Content-Length` or `Content-Range`, which the body
    ///   must have to be stored.
    private func store(
        _ response: TransportResponse,
        _ head: StoredResponseHead,
        storing storable: StatedLength?,
        _ storing: Storing,
        _ inFlight: InFlightFetch
    ) async {
        let writer = storing.writer
        let notStored = writer == nil ? storing.refusal : nil
        // A body that is not stored is shared only if all of it fits in memory, so that no caller
        // has to wait for a slower reader. Readers rely only on the message's own length; the
        // length in `Content-Range` may be wrong.
        let expected =
            response.head.contentLength ?? response.body.whole.map { StatedLength(clamping: $0.readableBytes) }
        guard writer != nil || expected?.isWithin(InFlightBody.windowLimit) == true else {
            engine.inFlightFetches.detach(inFlight, key)
            return inFlight.publish(.unshared(response, responseTime: head.responseTime, notStored: notStored))
        }
        // Encoding and copying a long body would block other requests.
        let isInPlace = storing.isInPlace && expected?.isWithin(Self.inPlaceLimit) == true
        let body = InFlightBody(
            length: expected,
            writer: writer,
            writesInPlace: isInPlace,
            unread: UnreadLimit(response.head, length: expected, isBackground: inFlight.isBackground),
            watch: UnreadWatch(deadlines: engine.deadlines, origins: engine.origins, origin: origin)
        ) { [weak inFlight] in
            inFlight?.cancel()
        }
        inFlight.publish(.shared(head, response.head, body, notStored: notStored))
        do {
            var received: StatedLength = 0
            for try await chunk in response.body {
                received = received.adding(chunk.readableBytes) ?? .maximum
                guard await body.append(chunk) else { throw CancellationError() }
            }
            if let expected, expected != received {
                throw BodyStreamError.truncated(expected: expected, received: received)
            }
            body.receivedAll()
            // Commit before readers see the end: a caller that has read all then finds it stored.
            if let writer, body.isStoring {
                if response.boundary?.isCrossed == true || storable.map({ $0 != received }) == true {
                    // Extra bytes follow the body, or its length is not as stated. RFC 9110 §14.4
                    await writer.abandon()
                } else if response.head.status == .ok, let storedSuccess,
                    prepared.goodDataGuard(for: storedSuccess, engine.options)?.refuses(
                        length: received,
                        head.fields,
                        replacing: storedSuccess
                    ) == true
                {
                    await writer.abandon()
                } else if await passes(head, storing, body, inFlight), await mayReplaceStored(head),
                    engine.inFlightFetches.claimStoring(inFlight, key, head, isPart: head.status == .partialContent)
                {
                    await commit(writer, storing, isInPlace: isInPlace, response.boundary)
                } else {
                    await writer.abandon()
                }
            }
            body.finish()
        } catch {
            // A body that is cut short is never stored. Detach the fetch first, so that a caller
            // that sees the error and retries does not join it.
            engine.inFlightFetches.detach(inFlight, key)
            await writer?.abandon()
            body.finish(throwing: error)
        }
    }
}

extension HTTPResponse.Status {
    /// Whether `stale-if-error` applies to this status. RFC 5861 §4
    var isServerFailure: Bool { [500, 502, 503, 504].contains(code) }
}
