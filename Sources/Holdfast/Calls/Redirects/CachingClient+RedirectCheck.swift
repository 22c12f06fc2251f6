import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension CachingClient {
    /// Returns a call's content check, extended to redirects that would replace a stored response.
    ///
    /// A redirect has no content to check. It replaces a stored response only if it leads to
    /// another stored response that the call can read. Otherwise, a captive portal's redirect could
    /// replace good responses. The first time, the call follows the redirect and stores its target;
    /// the next time, the redirect is stored, too.
    func judgingRedirects(
        of request: CacheRequest,
        _ call: Call<some Sendable>,
        _ prepared: PreparedCall,
        by check: ContentCheck
    ) -> ContentCheck {
        guard request.followsRedirects else { return check }
        let judge = check.check
        var judging = check
        judging.check = { [self] head, content in
            guard prepared.reading.isFollowed(head, to: request) else { return try await judge(head, content) }
            do {
                try await readStored(head, of: request, call, prepared)
            } catch {
                if request.preference == .staleWhileRevalidate { fetchTarget(of: head, request, call, prepared, check) }
                throw error
            }
        }
        return judging
    }

    /// Fetches the target of a redirect that was received in the background, where no call follows
    /// it. Once the target is stored, the redirect may be stored, too.
    private func fetchTarget(
        of head: HTTPResponse,
        _ request: CacheRequest,
        _ call: Call<some Sendable>,
        _ prepared: PreparedCall,
        _ check: ContentCheck
    ) {
        var chain = RedirectChain()
        guard case .follow(let redirect) = chain.decide(after: head, to: request) else { return }
        var next = request.redirected(to: redirect)
        next.preference = .standard
        next.executionContext = .system
        next.contentCheck = judgingRedirects(of: next, call, prepared, by: check)
        Task { [next, chain] in
            guard let response = try? await follow(next, call, prepared, after: chain) else { return }
            _ = try? await prepared.reading.read(response, call.interpret)
        }
    }

    /// Reads the stored response that a redirect leads to.
    private func readStored(
        _ head: HTTPResponse,
        of request: CacheRequest,
        _ call: Call<some Sendable>,
        _ prepared: PreparedCall
    ) async throws {
        var request = request
        request.preference = .storedOnly
        request.contentCheck = nil
        // The check belongs to the fetch, which outlives the call.
        request.executionContext = .system
        var chain = RedirectChain()
        guard case .follow(let redirect) = chain.decide(after: head, to: request) else { throw RedirectNotStorable() }
        let response = try await follow(request.redirected(to: redirect), call, prepared, after: chain)
        _ = try await prepared.reading.read(response, call.interpret)
    }

    /// Returns the stored value if a redirect led to bytes that look wrong compared with it, such
    /// as a captive portal's page. The engine cannot make this comparison, because no response is
    /// stored at the page's own URL.
    func storedInstead<Value: Sendable>(
        of response: CacheResponse,
        to request: CacheRequest,
        _ call: Call<Value>,
        _ prepared: PreparedCall
    ) async throws -> Delivery<Value>? {
        guard response.redirects != nil, response.source == .network, request.preference != .networkOnly,
            let guarding = request.goodDataGuard, var stored = try await stored(call, prepared),
            stored.emission.status == .ok,
            guarding.refuses(
                response.head,
                length: response.body.length,
                replacing: stored.emission.fields,
                bodyLength: Int64(clamping: stored.bytes.readableBytes)
            )
        else { return nil }
        stored.emission.outcome.noteGuarded(from: response.head.status)
        return stored
    }
}

extension RedirectChain {
    /// Decides about a redirect that is about to be stored. Its request could be stored too, so it
    /// has no content that can be read only once.
    fileprivate mutating func decide(after head: HTTPResponse, to request: CacheRequest) -> Decision {
        decide(after: head, to: request.head, secretFields: request.secretFields, mayRepeatContent: true)
    }
}

/// A redirect that cannot be followed, and therefore replaces no stored response.
private struct RedirectNotStorable: Error {}
