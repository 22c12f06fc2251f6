package import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Looking up stored responses, and opening the response that a flow serves.
extension CacheEngine {
    /// Returns the state before a lookup, so that later events are noticed. Call this before the
    /// lookup.
    package func lookupStart(_ key: StoreKey, for request: CacheRequest) -> LookupStart {
        let present = store.invalidationSequence
        return LookupStart(
            endedFetches: inFlightFetches.endedCount(key),
            fencingNumber: request.fencingNumber.map { min($0, present) } ?? present
        )
    }

    /// See ``ResponseStore/shortID(of:)``.
    package func shortID(of key: StoreKey) -> String? { store.shortID(of: key) }

    /// Returns the principal's stored responses followed by the common responses, and whether the
    /// list is complete.
    ///
    /// Never throws: if the store fails, there is nothing to serve.
    package func storedResponses(for prepared: PreparedRequest) async -> (found: [StoredResponse], isWhole: Bool) {
        guard let key = prepared.key else { return ([], true) }
        let common = prepared.commonLookupKey ?? key
        let context = prepared.request.executionContext
        let own = await lookup(key, in: context)
        let others = common == key ? [] : await lookup(common, in: context)
        return ((own ?? []) + prepared.forPrincipal(others ?? []), own != nil && others != nil)
    }

    /// Returns the stored responses of a key; `nil` if the store fails.
    func lookup(_ key: StoreKey, in context: ExecutionContext = .system) async -> [StoredResponse]? {
        if let resident = store.resident(key) { return resident }
        return await recovering("lookup", .read, in: context) { [store] in try await store.lookup(key) }
    }

    /// Opens a stored response: the whole representation, a 304 to the caller's own condition, or
    /// the requested ranges.
    ///
    /// - Returns: `nil` if the body no longer exists.
    package func open(
        _ serve: ReuseMachine.Serve,
        for prepared: PreparedRequest,
        isValidated: Bool = false
    ) async -> CacheResponse? {
        let boundary = prepared.request.head.headerFields.contains(.range) ? makeBoundary() : ""
        let (head, selection) = prepared.head(for: serve, isValidated: isValidated, boundary: boundary)
        var body = BodyStream.empty
        if let selection, prepared.method != .head {
            guard let opened = await open(selection, of: serve.stored, for: prepared, boundary: boundary) else {
                return nil
            }
            body = opened
        }
        return response(serve, head, body, for: prepared, isValidated: isValidated)
    }

    /// Returns the response that serves a stored response.
    func response(
        _ serve: ReuseMachine.Serve,
        _ head: HTTPResponse,
        _ body: BodyStream,
        for prepared: PreparedRequest,
        isValidated: Bool = false
    ) -> CacheResponse {
        if let directive = serve.liftedDirective {
            logger.debug(
                "Serving a stale response despite a directive, because a rule allows it",
                metadata: ["http.method": "\(prepared.method)", "cache.directive": "\(directive)"]
            )
        }
        if !isValidated, serve.isNeeded { store.noteNeeded(serve.stored) }
        return CacheResponse(
            head: head,
            body: body,
            source: isValidated ? .network : .store,
            ageMilliseconds: serve.freshness.age.milliseconds,
            isStale: !isValidated && (!serve.freshness.isFresh || serve.stored.head.isInvalidated),
            isValidated: isValidated,
            stored: serve.stored,
            isToBeDecoded: serve.isToBeDecoded,
            outcome: serve.outcome
        )
    }

    /// Opens the selected bytes of a stored body; returns `nil` if they no longer exist.
    private func open(
        _ selection: StoredSelection,
        of stored: StoredResponse,
        for prepared: PreparedRequest,
        boundary: String
    ) async -> BodyStream? {
        let offset = stored.head.partialRange?.range.lowerBound ?? 0
        switch selection {
        case .complete: return await open(stored, nil, for: prepared)
        case .range(let range, _):
            guard let range = range.counted(from: offset)?.bytes(upTo: stored.bodyLength) else { return nil }
            return await open(stored, range, for: prepared)
        case .ranges:
            // All ranges share one permit, because a response that held one permit and waited for
            // another could block others.
            let permit = await contentPermit(for: stored, prepared)
            guard let plan = prepared.policy.multipartPlan(for: selection, of: stored.head, boundary: boundary) else {
                return nil
            }
            // Open every slice now, so that none disappears before it is sent.
            var parts: [BodyStream.Part] = []
            for piece in plan.pieces {
                switch piece {
                case .literal(let bytes): parts.append(.buffer(bytes))
                case .body(let range):
                    guard let range = range.bytes(upTo: stored.bodyLength),
                        let body = await open(stored, range, in: prepared.request.executionContext)
                    else { return nil }
                    parts.append(.stream(body))
                }
            }
            let body = BodyStream.concatenating(parts, length: plan.length)
            guard let permit else { return body }
            return try? await body.paced(in: permit, readsFirst: false)
        case .unsatisfiable: return .empty
        case .missing: return nil
        }
    }

    /// Opens a stored body that is the complete content of a response.
    private func open(
        _ stored: StoredResponse,
        _ range: Range<Int64>?,
        for prepared: PreparedRequest
    ) async -> BodyStream? {
        // Get the permit before reading anything, so that a response that waits for memory uses
        // none.
        let permit = await contentPermit(for: stored, prepared)
        return await open(stored, range, in: prepared.request.executionContext, with: permit)
    }

    /// Returns a permit for content that is read from the store while an event loop sends it; `nil`
    /// if no permit is needed.
    private func contentPermit(for stored: StoredResponse, _ prepared: PreparedRequest) async -> ContentPermits.Permit?
    {
        guard stored.content?.body == nil, prepared.request.executionContext.isShared else { return nil }
        return await contentPermits.enter(prepared.request.client)
    }

    private func open(
        _ stored: StoredResponse,
        _ range: Range<Int64>?,
        in context: ExecutionContext,
        with contentPermit: ContentPermits.Permit? = nil
    ) async -> BodyStream? {
        if let body = stored.content?.body {
            guard let range else { return BodyStream(body) }
            // Slice a body in memory here, without a thread switch.
            guard range.lowerBound >= 0, range.upperBound <= Int64(body.readableBytes) else { return nil }
            return body.getSlice(at: body.readerIndex + Int(range.lowerBound), length: range.count).map {
                BodyStream($0)
            }
        }
        return await recovering("openBody", .read, in: context) { [store] in
            let body = try await store.openBody(of: stored, range: range)
            guard let contentPermit else { return body }
            return try await body?.paced(in: contentPermit)
        } ?? nil
    }

    /// Returns a boundary with 104 random bits, so that it does not occur in a body by chance.
    private func makeBoundary() -> String {
        let parts = (0..<2).map { _ in String(UInt64(jitter() * 0x1p52), radix: 16) }
        return "holdfast-" + parts.joined(separator: "-")
    }
}

extension PreparedRequest {
    /// Returns the common stored responses that may be served to a principal. A `private` response
    /// to a request without a principal belongs to a guest, and is not shown to any user.
    func forPrincipal(_ common: [StoredResponse]) -> [StoredResponse] {
        common.contains { policy.isForOneUser($0.head) } ? common.filter { !policy.isForOneUser($0.head) } : common
    }

    /// Returns the head to serve for a stored response, and the part of the body to send after it.
    /// The selection is `nil` for a 304, because the caller already has the body.
    ///
    /// - Parameter boundary: separates the parts, if several are requested.
    func head(
        for serve: ReuseMachine.Serve,
        isValidated: Bool = false,
        boundary: String = ""
    ) -> (head: HTTPResponse, selection: StoredSelection?) {
        let stored = serve.stored
        // A response that was validated for another caller's request counts as a stored response
        // for this request.
        let fields = policy.servedFields(
            of: stored.head,
            age: serve.freshness.age,
            isValidated: isValidated && !serve.outcome.isCollapsed
        )
        // Conditions are evaluated before ranges. RFC 9110 §13.2.2
        if policy.isConditional(request.head), policy.isNotModified(stored.head, for: request.head) {
            var head = HTTPResponse(status: .notModified, headerFields: fields)
            head.headerFields[.contentLength] = nil
            head.headerFields[.contentRange] = nil
            return (head, nil)
        }
        // A range of the decoded content is not a range of the stored content.
        let selection: StoredSelection =
            serve.isToBeDecoded
            ? .complete : policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request.head)
        let head = policy.head(
            for: selection,
            of: stored.head,
            servedFields: fields,
            bodyLength: stored.bodyLength,
            boundary: boundary
        )
        return (head, selection)
    }
}
