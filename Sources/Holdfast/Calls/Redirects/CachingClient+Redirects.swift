import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension CachingClient {
    /// Returns the engine's response to a call's request, after the redirects that the call
    /// follows.
    ///
    /// - Parameter chain: the redirects that were followed before.
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
                // A stored redirect may be outdated. The origin knows where the resource is now.
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

    /// Performs one hop. An error of a later one names the redirects that led there.
    private func respond(to hops: Hops) async throws -> CacheResponse {
        do {
            return try await respondWhenAdmitted(to: hops.request)
        } catch var error as ExchangeError where !hops.passed.isEmpty {
            error.message += hops.trail
            // A read of the store treats the engine's errors as a miss.
            if hops.request.preference == .storedOnly { throw error }
            throw HoldfastError(error, target: "")
        }
    }

    /// Handles a redirect that is followed.
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
        // The origin has performed the mutation, whatever comes of reading its result.
        if !redirect.keepsContent, call.endpoint.isMutation { await invalidate(after: call) }
    }

    /// Reads a redirect's content, which is of no interest, because it is stored when that has
    /// ended. If it breaks off, the redirect is followed and not stored.
    private func readToTheEnd(_ redirect: CacheResponse) async {
        guard redirect.source == .network else { return }
        _ = try? await redirect.body.collect(upTo: Self.redirectBodyLimit)
    }

    /// Bytes of a redirect's content that are read. A longer one is closed, and not stored.
    private static let redirectBodyLimit = 64 << 10
}

/// The hops of one call. They hold what its response is then marked with.
struct Hops: Sendable {
    /// The request of the current hop.
    private(set) var request: CacheRequest
    private var chain: RedirectChain
    /// The redirected requests.
    private(set) var passed: [CacheRequest] = []
    /// Whether a redirect came from the store.
    private(set) var hasStored = false
    private var isStale = false
    private var isInvalidated = false

    init(_ first: CacheRequest, _ chain: RedirectChain) {
        request = first
        self.chain = chain
    }

    /// Decides about a redirect, and remembers where it came from.
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

    /// A response is as old as the redirects that lead to it.
    func annotate(_ response: inout CacheResponse) {
        guard !passed.isEmpty else { return }
        response.isStale = response.isStale || isStale
        response.redirects = FollowedRedirects(of: passed, to: request, isInvalidated: isInvalidated)
    }

    /// The hops for a message that ends with a full stop, without queries.
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
    /// The request that a redirect of this one leads to. All of the call's settings apply to it.
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
        // The new method decides.
        isIdempotent = nil
        guard var context = context as? CallContext else { return }
        context.body = nil
        // Reading the result of a mutation again changes nothing.
        context.isIdempotent = context.isIdempotent || head.method.isSafe
        self.context = context
    }

    /// The target for people. Queries are left out, because an origin may put a secret of its own
    /// into a `Location`.
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
    /// Whether content can be sent once more: it is in memory, or is read from files again.
    func mayRepeat(_ body: RequestBody?) -> Bool { body?.isInMemory != false || endpoint.task.isReadAgain }
}
