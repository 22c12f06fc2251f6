import HTTPCacheSemantics
import HTTPTypes
import Logging

/// Answering from the store: the whole representation, a 304 to the caller's own condition, or the ranges it asks for.
extension Exchange {
    /// - Returns: `nil` when the body is gone.
    func serve(_ serve: ExchangeMachine.Serve, isValidated: Bool = false) async -> CacheResponse? {
        let stored = serve.stored
        // What was validated for another's request is a stored response to this one.
        let fields = policy.servedFields(
            of: stored.head,
            age: serve.freshness.age,
            isValidated: isValidated && !serve.outcome.isCollapsed
        )
        var head: HTTPResponse
        var body = BodyStream.empty
        // Conditions are evaluated before ranges. RFC 9110 §13.2.2
        if policy.isConditional(request.head), policy.isNotModified(stored.head, for: request.head) {
            head = HTTPResponse(status: .notModified, headerFields: fields)
            head.headerFields[.contentLength] = nil
            head.headerFields[.contentRange] = nil
        } else {
            let boundary = boundary()
            let selection = policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request.head)
            head = policy.head(
                for: selection,
                of: stored.head,
                servedFields: fields,
                bodyLength: stored.bodyLength,
                boundary: boundary
            )
            if request.head.method != .head {
                guard let opened = await open(selection, of: stored, boundary: boundary) else { return nil }
                body = opened
            }
        }
        return response(head, body, of: serve, isValidated: isValidated)
    }

    /// The whole representation, where it is in memory; the request is neither conditional nor for a part.
    func resident(_ serve: ExchangeMachine.Serve) -> CacheResponse? {
        let stored = serve.stored
        guard let body = stored.content?.body,
            case .complete = policy.selection(of: stored.head, bodyLength: stored.bodyLength, for: request.head)
        else { return nil }
        let head = policy.head(
            for: .complete,
            of: stored.head,
            servedFields: policy.servedFields(of: stored.head, age: serve.freshness.age),
            bodyLength: stored.bodyLength,
            boundary: ""
        )
        return response(head, BodyStream(body), of: serve, isValidated: false)
    }

    private func response(
        _ head: HTTPResponse,
        _ body: BodyStream,
        of serve: ExchangeMachine.Serve,
        isValidated: Bool
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

    /// The octets of a selection; `nil` when they are gone.
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
            case .literal(let octets): parts.append(.buffer(octets))
            case .body(let range):
                guard let body = await open(stored, range) else { return nil }
                parts.append(.stream(body))
            }
        }
        return .concatenating(parts, length: plan.length)
    }

    private func open(_ stored: StoredResponse, _ range: Range<Int64>?) async -> BodyStream? {
        if range == nil, let body = stored.content?.body { return BodyStream(body) }
        return await engine.recovering("openBody") { try await engine.store.openBody(of: stored, range: range) } ?? nil
    }

    /// Text that no body has by chance: 104 random bits.
    private func boundary() -> String {
        guard request.head.headerFields.contains(.range) else { return "" }
        let parts = (0..<2).map { _ in String(UInt64(engine.jitter() * 0x1p52), radix: 16) }
        return "holdfast-" + parts.joined(separator: "-")
    }
}
