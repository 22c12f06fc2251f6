import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

extension CachingClient {
    /// Returns the engine's response to a call's request, after the redirects that the call
    /// follows.
    ///
    /// - Parameter chain: the redirects that have already been followed.
    @concurrent
    func follow(
        _ first: CacheRequest,
        _ call: Call<some Sendable>,
        _ prepared: PreparedCall,
        after chain: RedirectChain = RedirectChain()
    ) async throws -> CacheResponse {
        var hops = Hops(first, chain)
        while true {
            var response = try await respond(to: hops)
            guard prepared.reading.isFollowed(response.head, to: hops.request) else {
                hops.annotate(&response)
                return response
            }
            switch hops.decide(after: response, mayRepeatContent: call.mayRepeat(hops.request.body)) {
            case .deliver:
                hops.annotate(&response)
                return response
            case .fail(let fault):
                await readToTheEnd(response)
                // A stored redirect may be outdated. The origin knows the resource's current
                // location.
                guard hops.hasStored, ![.storedOnly, .networkOnly].contains(first.preference) else {
                    throw HoldfastError(fault, response.head, hops)
                }
                var fresh = first
                fresh.preference = .networkOnly
                return try await follow(fresh, call, prepared)
            case .follow(let redirect):
                await readToTheEnd(response)
                await note(response, hops, redirect, call)
                var next = hops.request.redirected(to: redirect)
                next.contentCheck = next.contentCheck.map { judgingRedirects(of: next, call, prepared, by: $0) }
                hops.append(next)
            }
        }
    }

    /// Performs one hop. The error of a later hop lists the redirects that led there.
    private func respond(to hops: Hops) async throws -> CacheResponse {
        do {
            return try await respondWhenAdmitted(to: hops.request)
        } catch var error as ExchangeError where !hops.passed.isEmpty {
            error.message += hops.trail
            // A store lookup treats the engine's errors as a miss.
            if hops.request.preference == .storedOnly { throw error }
            throw HoldfastError(error, target: "")
        }
    }

    /// Logs a redirect that is followed. If it completes a mutation, applies the invalidations.
    private func note(
        _ response: CacheResponse,
        _ hops: Hops,
        _ redirect: Redirect,
        _ call: Call<some Sendable>
    ) async {
        logger.debug(
            "Following a redirect",
            metadata: [
                "call.number": "\(call.number ?? 0)", "http.status": "\(response.head.status.code)",
                "http.url": "\(hops.request.plainTarget)", "redirect.url": "\(redirect.target.withoutQuery)",
                "redirect.number": "\(hops.passed.count + 1)", "cache.source": "\(response.source.rawValue)",
            ]
        )
        if response.source == .network, call.usesStore { noteUnstored(response, call.endpoint, isFollowed: true) }
        // The origin has performed the mutation, even if its result cannot be read.
        if !redirect.keepsContent, call.endpoint.isMutation { await invalidate(after: call) }
    }

    /// Reads a redirect's content to its end, because the redirect is stored only once it is
    /// complete. The content itself is ignored. If it breaks off, the redirect is followed but not
    /// stored.
    private func readToTheEnd(_ redirect: CacheResponse) async {
        guard redirect.source == .network else { return }
        _ = try? await redirect.body.collect(upTo: Self.redirectBodyLimit)
    }

    /// The maximum number of bytes of a redirect's content to read. If the content is longer, the
    /// connection is closed and the redirect is not stored.
    private static let redirectBodyLimit = 64 << 10
}

/// The hops of one call, and the marks that they leave on its response.
struct Hops: Sendable {
    /// The request of the current hop.
    private(set) var request: CacheRequest
    private var chain: RedirectChain
    /// The requests that were redirected.
    private(set) var passed: [CacheRequest] = []
    /// Whether a redirect came from the store.
    private(set) var hasStored = false
    private var isStale = false
    private var isInvalidated = false

    init(_ first: CacheRequest, _ chain: RedirectChain) {
        request = first
        self.chain = chain
    }

    /// Decides about a redirect, and records its source.
    mutating func decide(after redirect: CacheResponse, mayRepeatContent: Bool) -> RedirectChain.Decision {
        let decision = chain.decide(
            after: redirect.head,
            to: request.head,
            secretFields: request.secretFields,
            mayRepeatContent: mayRepeatContent
        )
        guard decision != .deliver else { return decision }
        isStale = isStale || redirect.isStale
        if redirect.source == .store {
            hasStored = true
            isInvalidated = isInvalidated || redirect.stored?.head.isInvalidated == true
        }
        return decision
    }

    mutating func append(_ next: CacheRequest) {
        passed.append(request)
        request = next
    }

    /// Adds the marks of the hops. A response is as stale as the redirects that lead to it.
    func annotate(_ response: inout CacheResponse) {
        guard !passed.isEmpty else { return }
        response.isStale = response.isStale || isStale
        response.redirects = FollowedRedirects(of: passed, to: request, isInvalidated: isInvalidated)
    }

    /// The hops as a sentence that follows a message, without queries.
    var trail: String { (passed + [request]).trail }
}

extension FollowedRedirects {
    var trail: String { (requests + [last]).trail }
}

extension [CacheRequest] {
    fileprivate var trail: String {
        " The request was redirected: " + map { "'\($0.plainTarget)'" }.joined(separator: " → ") + "."
    }
}

extension CacheRequest {
    /// Returns the request that a redirect of this one leads to. All of the call's settings apply
    /// to it.
    func redirected(to redirect: Redirect) -> CacheRequest {
        var next = self
        next.head = redirect.head
        next.target = redirect.target
        if !redirect.keepsContent { next.dropContent() }
        let change = next.onRedirect
        change?(&next)
        return next
    }

    private mutating func dropContent() {
        body = nil
        keysContent = false
        // The new method determines whether the request is idempotent.
        isIdempotent = nil
        guard var context = context as? CallContext else { return }
        context.body = nil
        // Reading a mutation's result again changes nothing.
        context.isIdempotent = context.isIdempotent || head.method.isSafe
        self.context = context
    }

    /// The target, for people to read. Queries are omitted, because an origin may put a secret into
    /// `Location`.
    fileprivate var plainTarget: String { TargetURI(request: head)?.withoutQuery ?? "?" }
}

extension TargetURI {
    fileprivate var withoutQuery: String { Redaction.withoutQuery(uri) }
}

extension ContentReading {
    /// Whether a response is a redirect that its call follows.
    func isFollowed(_ head: HTTPResponse, to request: CacheRequest) -> Bool {
        head.status.isRedirect && request.followsRedirects && !acceptedStatuses.contains(head.status)
    }
}

extension Call {
    /// Whether content can be sent again: it is in memory, or is read from files.
    func mayRepeat(_ body: RequestBody?) -> Bool { body?.isInMemory != false || endpoint.task.isReadAgain }
}
