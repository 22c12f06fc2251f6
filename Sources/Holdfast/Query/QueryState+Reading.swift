import HTTPCache

/// Reads of the store.
extension QueryState {
    mutating func read() -> [Action] {
        guard !isReading else {
            readsAgain = true
            return []
        }
        isReading = true
        return [.read]
    }

    mutating func finishRead(_ found: Delivery<Value>?, _ mode: OfflineMode) -> [Action] {
        guard isReading else { return [] }
        isReading = false
        self.mode = mode
        // Another call may have succeeded.
        if changes.haveResponse, let found, found.version != stored, found.isFresh { error = nil }
        stored = found?.version
        if readsAgain {
            readsAgain = false
            // The store changed during the read. The next read decides about everything else.
            if unsettled == nil { show(found) }
            return read()
        }
        let reason = reasonToFetch(found)
        changes = Changes()
        guard let settling = unsettled.take() else {
            show(found)
            if let reason { return ask(reason) }
            return wait()
        }
        settle(settling, found)
        if let again = [reason, settling.fetch.again].compactMap({ $0 }).max() { return ask(again) }
        return wait(anew: true)
    }

    /// Returns how to ask the origin after a read; `nil` if there is no reason to ask.
    private mutating func reasonToFetch(_ found: Delivery<Value>?) -> Fetching? {
        let isFirst = !hasRead
        hasRead = true
        // Even without the network, a call has a result to report: its error.
        let mayAsk = !keepsNetworkOut || found == nil && shown == nil && !isFetching
        if changes.haveMode { isOffline = isOffline && keepsNetworkOut }
        isOffline = isOffline || mode == .offline
        let wasValid = isValid
        if let found, superseded == nil || found.version != superseded {
            isValid = !found.isInvalidated
        } else if changes.haveInvalidation, shown != nil {
            // The shown value is not stored, so only the change says that it is invalidated.
            isValid = false
        }
        guard mayAsk else { return nil }
        // The response of a fetch in progress may be older than the change.
        if isFetching { return changes.haveInvalidation || changes.haveUpdate ? .ifNeeded : nil }
        let isFresh = found?.isFresh ?? false
        let isAsked = changes.haveUpdate && options.updatedValues == .fetched
        return isAsked || (isFirst || changes.haveMode) && !isFresh || wasValid && !isValid ? .ifNeeded : nil
    }

    /// Shows a stored value if it differs from the shown one in content or state.
    mutating func show(_ found: Delivery<Value>?) {
        guard let found, superseded == nil || found.version != superseded else { return }
        if skipsStaleValues, found.emission.isStale { return }
        superseded = nil
        // The first emission of a version says where it came from.
        if let shown, shown.version == found.version, shown.emission.isStale == found.emission.isStale { return }
        replace(found)
    }

    /// Replaces the shown value. An equal value is not replaced, so that there is nothing to
    /// redraw.
    mutating func replace(_ new: Delivery<Value>) {
        var new = new
        if let shown, new.hasSameContent(as: shown) {
            new.emission.value = shown.emission.value
        } else {
            contentNumber += 1
        }
        shown = new
        shownNumber += 1
    }
}

extension Delivery {
    /// Whether this is a value that may be used without asking the origin.
    fileprivate var isFresh: Bool { !emission.isStale && !isInvalidated }
}
