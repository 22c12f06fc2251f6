import HTTPCache
import HTTPTypes
import HoldfastContent

extension CachingClient {
    /// Returns the stored value; `nil` if no stored response can be used as this type.
    func stored<Value: Sendable>(_ call: Call<Value>, _ prepared: PreparedCall) async throws -> Delivery<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = .storedOnly
        if let known = serveStoredAtOnce(call, prepared.reading, request, mayRead: mayRead(for: call)) { return known }
        return try await read(call, prepared, request)
    }

    /// Whether a call may read from disk and decode on its caller's thread. The call's task must
    /// not keep an actor or a custom executor (such as an event loop) waiting. It must not have a
    /// time limit either, because the limit could not be enforced.
    func mayRead(for call: Call<some Sendable>, isolation: isolated (any Actor)? = #isolation) -> Bool {
        isolation == nil && call.timeLimit == nil && withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
    }

    /// Returns a value from the store on the caller's thread, without waking another thread. The
    /// value was decoded earlier from a response in memory or, if the call may read from disk, is
    /// decoded now.
    private func serveStoredAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ reading: ContentReading,
        _ request: CacheRequest,
        mayRead: Bool
    ) -> Delivery<Value>? {
        let recall = reading.mayRecall ? call.recall : nil
        guard mayRead || recall != nil else { return nil }
        // If this fails, the slow path tries again, reports errors and tries other sources. The
        // slow path also follows redirects.
        return try? engine.attempt(on: request, mayRead: mayRead) { response in
            guard !reading.isFollowed(response.head, to: request) else { return nil }
            if let recall, let known = reading.recallValue(response, recall) { return known }
            return mayRead ? try reading.readAtOnce(response, call.interpret) : nil
        }
    }

    /// Prepares a call that may be served on its caller's thread: no plugin prepares it, and its
    /// strategy accepts a stored response. Returns `nil` for other calls and for invalid requests.
    func prepareIfServableAtOnce(
        _ call: Call<some Sendable>,
        _ strategy: SingleValueStrategy,
        mayRead: Bool
    ) -> PreparedCall? {
        guard call.usesStore, mayRead || call.recall != nil, strategy.isServedStored, strategy.softTimeout == nil,
            plugins.preparing.isEmpty, call.options.plugins.isEmpty
        else { return nil }
        return try? prepareAtOnce(call, for: .network)
    }

    /// Returns the value that the call's strategy selects, if it is available without waiting.
    func serveAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ strategy: SingleValueStrategy,
        mayRead: Bool
    ) -> Delivery<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = strategy.preference
        return serveStoredAtOnce(call, prepared.reading, request, mayRead: mayRead)
    }

    /// Reads and decodes the stored response.
    @concurrent
    private func read<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ request: CacheRequest
    ) async throws -> Delivery<Value>? {
        do {
            return try await prepared.reading.read(try await follow(request, call, prepared), call.interpret)
        } catch let error as ExchangeError where error.code == .offlineMiss || error.code == .staleForbidden {
            noteForbidden(error, call.endpoint)
            return nil
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(error, target: prepared.target)
            switch error.code {
            case .closed, .cancelled: throw error
            case .status, .authenticationFailed, .outdated: return nil
            default:
                // Treat the response as a miss for this type, and log the error. The stored bytes
                // stay for types that can read them.
                logger.warning("Stored response not usable", metadata: ["error": "\(error.logged)"])
                return nil
            }
        }
    }

    /// Returns the stored value if the network will not be contacted. Plugins may have to wait
    /// before they can prepare a request, and a stored value must not wait for them.
    func serveStoredBeforePreparing<Value: Sendable>(
        _ call: Call<Value>,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value>? {
        guard call.usesStore, preference != .networkOnly else { return nil }
        if preference == .networkFirst, mode != .preferStored, call.endpoint.rule.asOptional == nil { return nil }
        let prepared = try await prepare(call, for: .lookup)
        let preference = prepared.reading.info.mode == .preferStored ? .storedFirst : preference
        guard preference != .networkFirst else { return nil }
        // The request's own directives may require more than freshness. RFC 9111 §5.2.1
        let isPlain = !prepared.request.head.headerFields.contains {
            ["cache-control", "pragma"].contains($0.name.canonicalName)
        }
        guard preference != .standard || isPlain, let stored = try await stored(call, prepared) else { return nil }
        // A rule overrides a directive only while the origin is unreachable. Only the engine knows
        // whether the origin is reachable.
        if stored.emission.outcome.isLifted, prepared.reading.info.mode != .offline { return nil }
        guard stored.emission.isStale else { return stored }
        switch preference {
        case .standard: return stored.isReusable(call, at: clock.now()) ? stored : nil
        case .staleWhileRevalidate:
            // Once the request can be made, the engine does the same as without plugins.
            Task {
                guard let prepared = try? await prepare(call, for: .network) else { return }
                let (request, _) = makeCheckedRequest(prepared, call, .staleWhileRevalidate)
                _ = try? await follow(request, call, prepared)
            }
            return stored
        default: return stored
        }
    }
}

extension Delivery {
    /// Whether the response is recent enough that the call does not fetch again. An invalidated
    /// response is always fetched again, as in the engine.
    func isReusable(_ call: Call<Value>, at now: Timestamp) -> Bool {
        guard let window = call.options.reuseWithin, let receivedAt, !isInvalidated else { return false }
        // If the clock is set back, a response must not stay recent forever.
        return window >= .zero && Duration.milliseconds(now.milliseconds(since: receivedAt).magnitude) <= window
    }
}

extension CacheOutcome {
    /// Whether a rule overrides a directive that forbids this use of an unconfirmed stored
    /// response.
    fileprivate var isLifted: Bool { detail?.description.hasPrefix("despite") == true }
}
