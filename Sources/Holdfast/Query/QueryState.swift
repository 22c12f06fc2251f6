import HTTPCache
import HoldfastContent

/// Decides what a query shows, and when it reads the store, asks the origin and waits.
///
/// A pure value: it takes events and returns actions. Its driver, ``Query``, carries out the
/// actions and reports their results as events. The rules are:
///
/// - At most one read and one fetch are in progress. A change that arrives during a read leads to
///   another read, so the last change is always seen.
/// - After a fetch, the store is read again. If another value was stored in the meantime, that
///   value is shown, so a response that was requested before an update never replaces the update.
/// - A reason to fetch that arrives during a fetch leads to another fetch, because the response may
///   be older than the reason.
/// - An error stays until a success: a response of the origin, a fresh stored value in place of a
///   request, or a newer response of another call. A stale stored value is no success.
struct QueryState<Value: Sendable>: Sendable {
    enum Event: Sendable {
        /// The query may read the store. Changes are reported from now on.
        case started
        /// The stored response may have changed.
        case changed(StoreChange.Kind, isUpdate: Bool)
        /// The client's mode has changed.
        case modeChanged
        /// A read ended, in this mode. There may be no usable value.
        case read(Delivery<Value>?, OfflineMode)
        /// A fetch ended with a value, which may be a stored one.
        case fetched(Delivery<Value>)
        /// The fetch failed, or the query could not start.
        case failed(HoldfastError)
        case originLost
        case originReturned
        /// The caller wants the origin's value.
        case refreshRequested
        /// The time of ``Action/wait(_:)`` is up.
        case timeUp
        /// The query was stopped, or the client was closed.
        case ended
    }

    enum Action: Sendable, Hashable {
        case read
        case fetch(Fetching)
        /// Report ``Event/timeUp`` after this time. Replaces an earlier wait; `nil` only ends it.
        case wait(Duration?)
        /// Cancel everything.
        case end
    }

    /// The ways to ask the origin.
    enum Fetching: Int, Sendable, Comparable {
        /// Only if the stored response may not be used without validation.
        case ifNeeded
        /// In any case.
        case always

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// A fetch in progress.
    struct Fetch: Sendable {
        /// The version that was stored when it began.
        let stored: StoredVersion?
        /// Whether and how to fetch again afterward.
        var again: Fetching?
    }

    /// The result of a fetch that has to be compared with the store.
    struct Unsettled: Sendable {
        let result: Delivery<Value>
        var fetch: Fetch
    }

    /// The kinds of changes since the last read.
    struct Changes: Sendable {
        var haveResponse = false
        var haveInvalidation = false
        var haveUpdate = false
        var haveMode = false
    }

    /// The longest pause between two requests of a query whose origin is unreachable. Usually the
    /// origin's return is reported earlier, but after a single failure nothing else may probe the
    /// origin.
    static var pauseWhileOffline: Duration { .seconds(30) }

    let options: QueryOptions
    /// Whether stale stored values are not shown.
    let skipsStaleValues: Bool

    /// The value to show.
    var shown: Delivery<Value>?
    /// The number of changes to ``shown``.
    var shownNumber = 0
    /// The number of changes to its content.
    var contentNumber = 0
    /// The last failure, until a success.
    var error: HoldfastError?
    var isOffline = false
    var isEnded = false

    var isReading = false
    var readsAgain = false
    var hasRead = false
    var changes = Changes()
    var fetch: Fetch?
    var unsettled: Unsettled?
    /// The version that was last read; `nil` if none is stored.
    var stored: StoredVersion?
    /// The stored version that is older than the shown value, which could not be stored.
    var superseded: StoredVersion?
    /// Whether an invalidation would apply to the last value, so that it is handled once.
    var isValid = true
    var mode = OfflineMode.automatic
    /// The current wait.
    var waiting: Duration?

    init(_ options: QueryOptions = QueryOptions(), skipsStaleValues: Bool = false) {
        self.options = options
        self.skipsStaleValues = skipsStaleValues
    }

    /// Whether the origin is being asked.
    var isFetching: Bool { fetch != nil || unsettled != nil }
    /// Whether the shown value, or its absence, may soon change.
    var isBusy: Bool { !isEnded && (isFetching || !hasRead) }
    /// Whether there is no value yet, but one may come.
    var isLoading: Bool { shown == nil && isBusy }
    /// Whether the origin is asked for a newer value than the shown one.
    var isRefreshing: Bool { shown != nil && isFetching && !isEnded }
    /// Whether stored values are used without asking the origin.
    var keepsNetworkOut: Bool { mode == .offline || mode == .preferStored }

    /// Takes an event and returns what to do next, in order.
    mutating func handle(_ event: Event) -> [Action] {
        guard !isEnded else { return [] }
        switch event {
        case .started: return read()
        case .changed(let kind, let isUpdate):
            if kind == .invalidated { changes.haveInvalidation = true } else { changes.haveResponse = true }
            if isUpdate { changes.haveUpdate = true }
            return read()
        case .modeChanged:
            changes.haveMode = true
            return read()
        case .read(let found, let mode): return finishRead(found, mode)
        case .fetched(let result): return finishFetch(result)
        case .failed(let error): return fail(error)
        case .originLost:
            isOffline = true
            return wait()
        case .originReturned:
            isOffline = mode == .offline
            return keepsNetworkOut ? [] : ask(.ifNeeded)
        case .refreshRequested: return ask(.always)
        case .timeUp:
            waiting = nil
            // A fetch in progress asks the origin anyway.
            if keepsNetworkOut || isFetching { return wait() }
            // By HTTP's rules, a fresh stored value would be returned, without finding out whether
            // the origin is back.
            return ask(.always)
        case .ended:
            isEnded = true
            return [.end]
        }
    }
}
