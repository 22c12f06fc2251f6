import HTTPCache
import HTTPTypes
import HoldfastContent

extension CachingClient {
    /// Reads a response. If it cannot be read, tries again, registers the call's persisted query,
    /// or reads a response from the other source, whichever applies first. The invalidations of a
    /// successful mutation take effect before its caller sees the result.
    func read<Value: Sendable>(
        _ response: CacheResponse,
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        _ judgement: Judgement<Value>?
    ) async throws -> Delivery<Value> {
        if call.usesStore { noteUnstored(response, call.endpoint) }
        do {
            let delivery = try await prepared.reading.read(response, call.interpret, judgement)
            if response.source == .network { await invalidate(after: call) }
            return delivery
        } catch {
            forget(prepared.request, after: call)
            // The mutation took effect, even if its response cannot be read or its caller has been
            // canceled.
            if response.source == .network, prepared.reading.acceptedStatuses.contains(response.head.status),
                (error as? HoldfastError)?.reportsNoEffect != true
            {
                await invalidate(after: call)
            }
            try Task.checkCancellation()
            if let again = try await retry(call, prepared, preference, afterBreakOf: response, error) { return again }
            var failure = error
            if let redirects = response.redirects, !(error is CancellationError) {
                failure = HoldfastError(error, target: prepared.target).naming(redirects)
            }
            do {
                if let registered = try await registerQuery(call, prepared, after: error) { return registered }
            } catch let error as HoldfastError where error.isContentFailure {
                failure = error
            }
            guard let other = try await retry(call, prepared, preference, after: failure, from: response) else {
                throw failure
            }
            return other
        }
    }

    /// Tries the other source after the first source's body failed: the store if the network
    /// failed, the network if the store failed.
    private func retry<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        after error: any Error,
        from response: CacheResponse
    ) async throws -> Delivery<Value>? {
        let error = HoldfastError(error, target: prepared.target)
        if response.stored != nil {
            guard prepared.reading.info.mode != .offline, preference != .storedOnly, !prepared.request.ignoresStored
            else { return nil }
            switch error.code {
            case .status, .authenticationFailed, .outdated, .bodyTooLarge: return nil
            case .truncated, .transportFailed:
                // The entry is damaged. A 304 would confirm unreadable content, so the client
                // fetches and stores the whole response.
                logger.warning("Stored response not readable", metadata: ["error": "\(error.logged)"])
                var again = prepared
                again.request.ignoresStored = true
                return try await deliver(call, again, .networkOnly)
            default:
                // A miss for this type. If the origin confirmed the content, the origin has no
                // other.
                guard response.source == .store else { return nil }
                logger.warning("Stored response not usable", metadata: ["error": "\(error.logged)"])
                return try await deliver(call, prepared, .networkOnly)
            }
        }
        if response.outcome.detail == .recent, prepared.reading.info.mode != .offline {
            // The response was fetched for another call, and is a miss for this one.
            return try await deliver(call, prepared, .networkOnly)
        }
        guard error.code == .truncated || error.isContentFailure, preference != .networkOnly,
            var fallback = try await stored(call, prepared)
        else { return nil }
        if error.code == .truncated {
            fallback.emission.outcome.noteUnreachable()
        } else {
            logger.warning("Response not usable; using the stored response", metadata: ["error": "\(error.logged)"])
            fallback.emission.outcome.noteGuarded(from: response.head.status)
        }
        return fallback
    }

    /// Returns the stored value if a request could not be made, as if the origin were unreachable.
    /// Returns `nil` if authentication was rejected, because a rejection is an answer.
    func fallBack<Value: Sendable>(
        _ call: Call<Value>,
        after error: HoldfastError,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value>? {
        guard call.usesStore, preference != .networkOnly, !error.isAuthenticationRejection else { return nil }
        var stored: Delivery<Value>?
        do {
            stored = try await self.stored(call, try await prepare(call, for: .lookup))
        } catch {
            // Report the first failure.
            try Task.checkCancellation()
        }
        switch error.code {
        case .overloaded: stored?.emission.outcome.detail = .overloaded
        case .redirectFailed: stored?.emission.outcome.noteGuarded(from: error.status)
        default: stored?.emission.outcome.noteUnreachable()
        }
        return stored
    }
}

extension CacheOutcome {
    /// Records that the origin is unreachable. If the detail states that the resource has been
    /// invalidated, that detail stays.
    fileprivate mutating func noteUnreachable() {
        if detail != .invalidated { detail = .unreachable }
    }

    /// Records that the origin responded, but with unusable content or an unusable redirect.
    mutating func noteGuarded(from status: HTTPResponse.Status?) {
        self = CacheOutcome(
            forward: .stale,
            forwardStatus: status?.code,
            timeToLive: timeToLive,
            detail: detail ?? .guarded
        )
    }
}
