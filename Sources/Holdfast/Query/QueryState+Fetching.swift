import HTTPCache
import HoldfastContent

/// Requests to the origin, and the time between them.
extension QueryState {
    /// Asks the origin now, or after the fetch in progress.
    mutating func ask(_ fetching: Fetching) -> [Action] {
        if let current = fetch {
            fetch?.again = max(current.again ?? fetching, fetching)
            return []
        }
        if let current = unsettled {
            unsettled?.fetch.again = max(current.fetch.again ?? fetching, fetching)
            return []
        }
        fetch = Fetch(stored: stored)
        return [.fetch(fetching)]
    }

    mutating func finishFetch(_ result: Delivery<Value>) -> [Action] {
        guard let current = fetch else { return [] }
        fetch = nil
        unsettled = Unsettled(result: result, fetch: current)
        return read()
    }

    /// Shows the result of a fetch, unless the store has a newer value.
    ///
    /// - Parameter found: the stored value, read after the fetch.
    mutating func settle(_ settling: Unsettled, _ found: Delivery<Value>?) {
        let result = settling.result
        let outcome = result.emission.outcome
        if result.isSuccess { error = nil }
        isOffline = mode == .offline || result.emission.source != .network && outcome.saysUnreachable
        guard result.emission.source != .substitute else {
            if shown == nil { replace(result) }
            return
        }
        // An invalidation of this response may be reported later.
        isValid = true
        if let found, !found.isInvalidated, found.hasSameContent(as: result) {
            // The response is stored. Only the fetch says that it came from the network.
            var stored = found
            stored.emission = result.emission
            superseded = nil
            replace(stored)
        } else if let found, found.version != settling.fetch.stored {
            // An update or a newer response was stored after this one was requested.
            show(found)
        } else if let version = result.version, let newer = shown?.version, version.bodyID < newer.bodyID {
            // The fetch found a stored response, which was replaced before it ended. The newer one
            // is shown, and is no longer stored.
            superseded = found?.version
        } else {
            // The response is not stored: it must not be, or an invalidation came first.
            superseded = found?.version
            replace(result)
        }
    }

    /// Shows an error next to the value, until a success.
    mutating func fail(_ error: HoldfastError) -> [Action] {
        self.error = error
        if error.code == .closed {
            isEnded = true
            return [.end]
        }
        hasRead = true
        let again = fetch?.again
        fetch = nil
        if error.isUnreachable {
            isOffline = true
        } else if error.status != nil {
            isOffline = mode == .offline
        }
        if let again { return ask(again) }
        return wait(anew: true)
    }

    /// Waits until the next request, unless that wait has already begun.
    ///
    /// - Parameter anew: whether a wait in progress starts over.
    mutating func wait(anew: Bool = false) -> [Action] {
        guard !isFetching else { return [] }
        var pause = keepsNetworkOut ? nil : options.interval
        if isOffline, !keepsNetworkOut { pause = min(pause ?? Self.pauseWhileOffline, Self.pauseWhileOffline) }
        guard pause != waiting || anew && pause != nil else { return [] }
        waiting = pause
        return [.wait(pause)]
    }
}

extension Delivery {
    /// Whether no failure is hidden by this value. A stale stored value, or a substitute, may have
    /// replaced the response of a failed request.
    fileprivate var isSuccess: Bool {
        emission.source == .network || emission.source == .store && !emission.isStale
    }
}

extension CacheOutcome {
    /// Whether a stored response was served because the origin is unreachable.
    fileprivate var saysUnreachable: Bool {
        let details: [Detail] = [.unreachable, .invalidated, .offline, .substitute]
        return detail.map(details.contains) ?? false
    }
}

extension HoldfastError {
    /// Whether the origin did not respond, or may not be asked.
    fileprivate var isUnreachable: Bool {
        let codes: [Code] = [.originUnreachable, .offlineMiss, .staleForbidden]
        return codes.contains(code)
    }
}
