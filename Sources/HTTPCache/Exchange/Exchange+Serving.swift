import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Answering from the store: the whole representation, a 304 to the caller's own condition, or the
/// ranges it asks for.
extension Exchange {
    /// - Returns: `nil` when the body is gone.
    func serve(_ serve: ExchangeMachine.Serve, isValidated: Bool = false) async -> CacheResponse? {
        let stored = serve.stored
        let boundary = boundary()
        let (head, selection) = head(for: serve, isValidated: isValidated, boundary: boundary)
        var body = BodyStream.empty
        if let selection, request.head.method != .head {
            guard let opened = await open(selection, of: stored, boundary: boundary) else { return nil }
            body = opened
        }
        return response(serve, head, body, isValidated: isValidated)
    }

    /// The head that answers, and what of the body follows; `nil` where nothing does, because the
    /// caller has it already.
    ///
    /// - Parameter boundary: between the parts, where several are asked for.
    func head(
        for serve: ExchangeMachine.Serve,
        isValidated: Bool = false,
        boundary: String = ""
    ) -> (head: HTTPResponse, selection: StoredSelection?) {
        let stored = serve.stored
        // What was validated for another's request is a stored response to this one.
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
        let selection = policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request.head)
        let head = policy.head(
            for: selection,
            of: stored.head,
            servedFields: fields,
            bodyLength: stored.bodyLength,
            boundary: boundary
        )
        return (head, selection)
    }

    /// What the caller gets.
    func response(
        _ serve: ExchangeMachine.Serve,
        _ head: HTTPResponse,
        _ body: BodyStream,
        isValidated: Bool = false
    ) -> CacheResponse {
        if let directive = serve.liftedDirective {
            engine.logger.debug(
                "Stale response answers although a directive forbids it, because a rule says so",
                metadata: ["http.method": "\(request.head.method)", "cache.directive": "\(directive)"]
            )
        }
        return CacheResponse(
            head: head,
            body: body,
            source: isValidated ? .network : .store,
            age: serve.freshness.age.milliseconds,
            isStale: !isValidated && (!serve.freshness.isFresh || serve.stored.head.isInvalidated),
            isValidated: isValidated,
            stored: serve.stored,
            outcome: serve.outcome
        )
    }

    /// The bytes of a selection; `nil` when they are gone.
    private func open(_ selection: StoredSelection, of stored: StoredResponse, boundary: String) async -> BodyStream? {
        let offset = stored.head.partialRange?.range.lowerBound ?? 0
        switch selection {
        case .complete: return await open(stored, nil)
        case .range(let range, _):
            return await open(stored, (range.lowerBound - offset)..<(range.upperBound - offset))
        case .ranges:
            guard let plan = policy.multipartPlan(for: selection, of: stored.head, boundary: boundary) else {
                return nil
            }
            return await open(plan, of: stored)
        case .unsatisfiable: return .empty
        case .missing: return nil
        }
    }

    /// Every slice is opened now, so that none can be gone when its turn comes.
    private func open(_ plan: MultipartPlan, of stored: StoredResponse) async -> BodyStream? {
        var parts: [BodyStream.Part] = []
        for piece in plan.pieces {
            switch piece {
            case .literal(let bytes): parts.append(.buffer(bytes))
            case .body(let range):
                guard let body = await open(stored, range) else { return nil }
                parts.append(.stream(body))
            }
        }
        return .concatenating(parts, length: plan.length)
    }

    private func open(_ stored: StoredResponse, _ range: Range<Int64>?) async -> BodyStream? {
        if let body = stored.content?.body {
            guard let range else { return BodyStream(body) }
            // What is in memory already is cut here: no thread has to be changed for it.
            guard range.lowerBound >= 0, range.upperBound <= Int64(body.readableBytes) else { return nil }
            return body.getSlice(at: body.readerIndex + Int(range.lowerBound), length: range.count).map {
                BodyStream($0)
            }
        }
        let runsOnLoop = request.place.isShared
        return await engine.recovering("openBody", at: request.place) {
            let body = try await engine.store.openBody(of: stored, range: range)
            return runsOnLoop ? try await body?.begunAwayFromLoops() : body
        } ?? nil
    }

    /// Text that no body has by chance: 104 random bits.
    private func boundary() -> String {
        guard request.head.headerFields.contains(.range) else { return "" }
        let parts = (0..<2).map { _ in String(UInt64(engine.jitter() * 0x1p52), radix: 16) }
        return "holdfast-" + parts.joined(separator: "-")
    }
}
