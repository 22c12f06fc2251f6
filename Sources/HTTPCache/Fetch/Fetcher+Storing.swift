import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization

/// Storing: a body goes to the store and to the callers while it arrives.
extension Fetcher {
    /// The maximum length, in bytes, of a body that is stored on the exchange's executor.
    private static let inPlaceLimit: Int64 = 256 << 10

    /// A body on its way to the store, or the reason that it is not stored.
    struct Storing {
        /// The writer for the body; `nil` if the body is not stored.
        var writer: (any StoredResponseWriter)?
        /// The reason that the body is not stored; used only without a writer.
        var refusal = StorageRefusal.store
        /// The length from `Content-Length` or `Content-Range`, which the body must have to be
        /// stored.
        var length: StatedLength?
        /// The draft of a complete response for other nodes, and the fencing position that they
        /// compare with.
        var offered: (draft: ResponseDraft, fencingPosition: LogPosition?)?
        /// The writer that combines a part with the stored bytes.
        var combining: CombiningWriter?
        /// Receives the reason that the body is not stored after all; used only with a writer.
        var lateRefusal = LateRefusal()
        /// Whether the body is an event stream, which may have no end.
        var isEventStream = false
        /// Whether the writer may be used on the exchange's executor: see
        /// ``ResponseStore/suspendsWhileWriting``.
        var isInPlace = false
    }

    /// Begins to store a body. The result has no writer in these cases:
    /// - the store declines
    /// - the response exceeds the limits for tags
    /// - a rule excludes bodies of this length
    /// - a rule stores responses only after more uses
    /// - the caller's check cannot check this content
    ///
    /// - Parameter uses: the number of callers that asked for the response; `nil` stores it however
    ///   often it was asked for.
    func writer(for draft: ResponseDraft, uses: Int? = nil) async -> Storing {
        guard draft.hasAcceptableTags else { return Storing(refusal: .tags) }
        let settings = prepared.settings(for: draft.head.fields)
        let limits = settings.map(BodyLimits.init)
        if let limits, !limits.allow(draft) { return Storing(refusal: .bodyLength) }
        if let settings, let uses, !isUsedEnough(draft, settings, uses) { return Storing(refusal: .fewUses) }
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
        var storing = Storing(isInPlace: isInPlace)
        let refusal = storing.lateRefusal
        if let limits, !limits.isEmpty { writer = LimitedWriter(writer, limits.remaining(for: draft), refusal) }
        if let rule = prepared.settings?.eventStreams, EventStreamRule.applies(to: draft.head.fields) {
            writer = EventStreamWriter(writer, rule, refusal)
            storing.isEventStream = true
        }
        storing.writer = writer
        return storing
    }

    /// Returns whether a response was asked for often enough to be stored. Callers that wait for it
    /// count.
    private func isUsedEnough(_ draft: ResponseDraft, _ settings: ExchangeSettings, _ uses: Int) -> Bool {
        guard settings.leastUses > 1, !draft.isPinned, !plan.replacesStored, request.client != .refreshes else {
            return true
        }
        return engine.useCounts.withLock { $0.add(max(1, uses), to: key) } >= settings.leastUses
    }

    /// Shares a body, and stores it if there is a writer.
    func store(
        _ response: TransportResponse,
        _ head: StoredResponseHead,
        _ storing: Storing,
        _ inFlight: InFlightFetch
    ) async {
        let writer = storing.writer
        if writer != nil { engine.noteShared(key) }
        let notStored = writer == nil ? storing.refusal : nil
        // A body that is not stored is shared only if all of it fits in memory, so that no caller
        // has to wait for a slower reader. Readers rely only on the message's own length; the
        // length in `Content-Range` may be wrong.
        let expected =
            response.head.contentLength ?? response.body.whole.map { StatedLength(clamping: $0.readableBytes) }
        guard writer != nil || expected?.isWithin(InFlightBody.windowLimit) == true else {
            engine.noteUnshared(storing.refusal, response.head.status, key, at: head.responseTime)
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
            watch: UnreadWatch(deadlines: engine.deadlines, origins: engine.origins, origin: origin),
            lateRefusal: writer == nil ? nil : storing.lateRefusal
        ) { [weak inFlight] in
            inFlight?.cancel()
        }
        inFlight.publish(.shared(head, response.head, body, notStored: notStored))
        do {
            var received: StatedLength = 0
            var isPassing = false
            for try await chunk in response.body {
                received = received.adding(chunk.readableBytes) ?? .maximum
                guard await body.append(chunk) else { throw CancellationError() }
                if storing.isEventStream, !isPassing, !body.isStoring {
                    isPassing = true
                    pass(storing.lateRefusal, response.head, head, inFlight)
                }
            }
            if let expected, expected != received {
                throw BodyStreamError.truncated(expected: expected, received: received)
            }
            body.receivedAll()
            // Commit before readers see the end: a caller that has read all then finds it stored.
            if let writer, body.isStoring {
                if isAsStated(response, storing, received), !isGuarded(response.head, head, received),
                    await passes(head, storing, body, inFlight), await mayReplaceStored(head),
                    await engine.inFlightFetches.mayStore(inFlight, key, head)
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
            if storing.isEventStream || !error.isCancellation { storing.lateRefusal.note(.cutShort) }
            await writer?.abandon()
            body.finish(throwing: error)
        }
    }

    /// Lets an event stream pass that turned out not to be storable: it may have no end, so no
    /// other caller joins it.
    private func pass(
        _ late: LateRefusal,
        _ response: HTTPResponse,
        _ head: StoredResponseHead,
        _ inFlight: InFlightFetch
    ) {
        engine.inFlightFetches.detach(inFlight, key)
        engine.noteUnshared(late.refusal ?? .store, response.status, key, at: head.responseTime)
    }

    /// Returns whether a body has the stated length, and no extra bytes follow it. RFC 9110 §14.4
    private func isAsStated(_ response: TransportResponse, _ storing: Storing, _ received: StatedLength) -> Bool {
        response.boundary?.isCrossed != true && storing.length.map { $0 == received } != false
    }

    /// Returns whether the good data guard keeps a response from replacing the stored success.
    private func isGuarded(_ response: HTTPResponse, _ head: StoredResponseHead, _ received: StatedLength) -> Bool {
        guard response.status == .ok, let storedSuccess,
            let guarding = prepared.goodDataGuard(for: storedSuccess, engine.options)
        else { return false }
        return guarding.refuses(length: received, head.fields, replacing: storedSuccess)
    }

    /// Makes a stored response visible, and offers it to other nodes.
    private func commit(
        _ writer: any StoredResponseWriter,
        _ storing: Storing,
        isInPlace: Bool,
        _ boundary: MessageBoundary?
    ) async {
        let finished = await engine.recovering("finish", suspends: isInPlace) { try await writer.finish() }
        guard let new = finished ?? nil else {
            // The store is full or failing, or an invalidation arrived in the meantime.
            return storing.lateRefusal.note(.store)
        }
        if let offered = storing.offered { offer(new, offered.draft, fencingPosition: offered.fencingPosition) }
        await engine.undo(StoredChange(response: new), ifCrossed: boundary)
    }

    /// Returns whether a response may be stored now. An error never replaces a stored success, not
    /// even a success that was stored while this fetch waited. Neither does a redirect of a refresh
    /// replace a 2xx.
    private func mayReplaceStored(_ head: StoredResponseHead) async -> Bool {
        let isRedirect = request.client.isRefreshRedirected(by: head.status)
        guard isRedirect || head.status.code >= 400 else { return true }
        var matcher = VariantMatcher(prepared.policy, prepared.selecting)
        if isRedirect {
            return await !hasStoredSuccess { $0.head.status.kind == .successful && matcher.matches($0.head) }
        }
        return await !hasStoredSuccess { matcher.matches($0.head) }
    }

    /// Returns whether a success is, or may be, stored for the request now. If the store cannot be
    /// read, it may contain a success.
    func hasStoredSuccess(that matches: (StoredResponse) -> Bool) async -> Bool {
        for key in prepared.lookupKeys {
            guard let found = await engine.lookup(key) else { return true }
            if found.contains(where: { $0.head.status.code < 400 && matches($0) }) { return true }
        }
        return false
    }
}
