import HTTPCacheSemantics
import HTTPTypes

/// Combining: a part of a response and the stored bytes form one response. RFC 9111 §3.4
extension Fetcher {
    /// Serves the stored beginning and the rest that was just received as one response.
    func complete(
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
        var storing = await writer(for: draft)
        storing.length = combined.length
        await store(whole, draft.head, storing, inFlight)
    }

    /// Serves a part to its caller and completes the stored response with it.
    func combine(
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
        storing.length = response.head.partLength
        await store(response, draft.head, storing, inFlight)
    }

    private func open(_ stored: StoredResponse, _ range: Range<Int64>) async -> BodyStream? {
        await engine.recovering("openBody", .read) { try await engine.store.openBody(of: stored, range: range) } ?? nil
    }
}
