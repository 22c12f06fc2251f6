import Testing

@testable import Holdfast

/// The decisions of a query, without a client.
@Suite(.timeLimit(.minutes(20))) struct QueryStateTests {
    typealias State = QueryState<String>

    /// A query that shows a fresh stored value, and waits.
    private func settled(_ options: QueryOptions = QueryOptions()) -> State {
        var state = State(options)
        #expect(state.handle(.started) == [.read])
        _ = state.handle(.read(.stored("a", 1), .automatic))
        #expect(state.shown?.emission.value == "a" && !state.isBusy)
        return state
    }

    // MARK: The first values

    @Test func freshStoredValueIsShownWithoutARequest() {
        var state = State()
        #expect(state.isLoading)
        #expect(state.handle(.started) == [.read])
        #expect(state.handle(.read(.stored("a", 1), .automatic)) == [])
        #expect(!state.isLoading && !state.isRefreshing && state.shown?.emission.source == .store)
    }

    @Test func staleStoredValueIsShownWhileTheOriginIsAsked() {
        var state = State()
        _ = state.handle(.started)
        #expect(state.handle(.read(.stored("a", 1, isStale: true), .automatic)) == [.fetch(.ifNeeded)])
        #expect(state.shown?.emission.value == "a" && state.isRefreshing && !state.isLoading)
        #expect(state.handle(.fetched(.network("b"))) == [.read])
        #expect(state.isRefreshing && state.shown?.emission.value == "a")
        #expect(state.handle(.read(.stored("b", 2), .automatic)) == [])
        #expect(state.shown?.emission.value == "b" && state.shown?.emission.source == .network && !state.isBusy)
    }

    @Test func withoutAStoredValueItLoads() {
        var state = State()
        _ = state.handle(.started)
        #expect(state.handle(.read(nil, .automatic)) == [.fetch(.ifNeeded)])
        _ = state.handle(.fetched(.network("a")))
        #expect(state.isLoading)
        // The response must not be stored.
        #expect(state.handle(.read(nil, .automatic)) == [])
        #expect(state.shown?.emission.value == "a" && !state.isLoading && !state.isBusy)
    }

    @Test func confirmedValueIsNotReplaced() {
        var state = State()
        _ = state.handle(.started)
        _ = state.handle(.read(.stored("a", 1, isStale: true), .automatic))
        _ = state.handle(.fetched(.network("a")))
        _ = state.handle(.read(.stored("a", 2), .automatic))
        #expect(state.contentNumber == 1 && state.shownNumber == 2 && state.shown?.emission.isStale == false)
    }

    @Test func staleValueIsSkippedIfTheCallSaysSo() {
        var state = State(skipsStaleValues: true)
        _ = state.handle(.started)
        #expect(state.handle(.read(.stored("a", 1, isStale: true), .automatic)) == [.fetch(.ifNeeded)])
        #expect(state.shown == nil && state.isLoading)
    }

    // MARK: Reasons to ask again

    @Test(arguments: [true, false]) func updateIsShownAndFetched(isFetched: Bool) {
        var state = settled(QueryOptions(updatedValues: isFetched ? .fetched : .shown))
        #expect(state.handle(.changed(.stored, isUpdate: true)) == [.read])
        let actions = state.handle(.read(.stored("b", 2, isStale: true), .automatic))
        #expect(actions == (isFetched ? [.fetch(.ifNeeded)] : []) && state.shown?.emission.value == "b")
    }

    @Test func valueOfAnotherCallIsShownWithoutARequest() {
        var state = settled()
        _ = state.handle(.changed(.stored, isUpdate: false))
        #expect(state.handle(.read(.stored("b", 2, isStale: true), .automatic)) == [])
        #expect(state.shown?.emission.value == "b")
    }

    @Test func invalidationIsFetchedOnce() {
        var state = settled()
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        let marked = Delivery<String>.stored("a", 1, isInvalidated: true)
        #expect(state.handle(.read(marked, .automatic)) == [.fetch(.ifNeeded)])
        #expect(state.shown?.emission.isStale == true && state.contentNumber == 1)
        _ = state.handle(.failed(.broken))
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        #expect(state.handle(.read(marked, .automatic)) == [])
    }

    @Test func removedValueIsFetchedAndStaysUntilThen() {
        var state = settled()
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        #expect(state.handle(.read(nil, .automatic)) == [.fetch(.ifNeeded)])
        #expect(state.shown?.emission.value == "a")
    }

    @Test func invalidationOfAnotherValueIsIgnored() {
        var state = settled()
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        #expect(state.handle(.read(.stored("a", 1), .automatic)) == [])
        #expect(state.shownNumber == 1)
    }

    @Test func originsReturnIsAReason() {
        var state = settled()
        #expect(state.handle(.originLost) == [.wait(State.pauseWhileOffline)])
        #expect(state.isOffline)
        #expect(state.handle(.originReturned) == [.fetch(.ifNeeded)])
        #expect(!state.isOffline)
    }

    @Test func refreshAsksInAnyCase() {
        var state = settled()
        #expect(state.handle(.refreshRequested) == [.fetch(.always)])
    }

    @Test(arguments: [OfflineMode.offline, .preferStored]) func modeKeepsTheNetworkOut(mode: OfflineMode) {
        var state = State(QueryOptions(interval: .seconds(5)))
        _ = state.handle(.started)
        #expect(state.handle(.read(.stored("a", 1, isStale: true), mode)) == [])
        #expect(state.isOffline == (mode == .offline) && !state.isBusy)
        #expect(state.handle(.originReturned) == [])
        #expect(state.handle(.timeUp) == [])
        #expect(state.handle(.modeChanged) == [.read])
        #expect(state.handle(.read(.stored("a", 1, isStale: true), .automatic)) == [.fetch(.ifNeeded)])
        #expect(!state.isOffline)
    }

    // The call says why there is no value.
    @Test func offlineMissIsReported() {
        var state = State()
        _ = state.handle(.started)
        #expect(state.handle(.read(nil, .offline)) == [.fetch(.ifNeeded)])
        let miss = HoldfastError(code: .offlineMiss, message: "Nothing is stored.")
        #expect(state.handle(.failed(miss)) == [])
        #expect(state.error?.code == .offlineMiss && state.isOffline && !state.isLoading)
    }

    // MARK: Time

    @Test(arguments: [Duration.zero, .seconds(-5), .nanoseconds(1)])
    func intervalIsNeverZero(_ interval: Duration) {
        #expect(QueryOptions(interval: interval).interval == .milliseconds(1))
        var options = QueryOptions()
        options.interval = interval
        #expect(options.interval == .milliseconds(1))
        options.interval = nil
        #expect(options.interval == nil)
    }

    @Test func intervalsCountFromTheLastResponse() {
        var state = State(QueryOptions(interval: .seconds(5)))
        _ = state.handle(.started)
        #expect(state.handle(.read(.stored("a", 1), .automatic)) == [.wait(.seconds(5))])
        // A change does not delay the next request.
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        #expect(state.handle(.read(.stored("a", 1), .automatic)) == [])
        #expect(state.handle(.timeUp) == [.fetch(.always)])
        _ = state.handle(.fetched(.network("a")))
        #expect(state.handle(.read(.stored("a", 2), .automatic)) == [.wait(.seconds(5))])
    }

    @Test func unreachableOriginIsAskedAgainAfterAPause() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        #expect(state.handle(.failed(.unreachable)) == [.wait(State.pauseWhileOffline)])
        #expect(state.isOffline && state.error?.code == .originUnreachable && state.shown?.emission.value == "a")
        for _ in 0..<3 {
            #expect(state.handle(.timeUp) == [.fetch(.always)])
            #expect(state.handle(.failed(.unreachable)) == [.wait(State.pauseWhileOffline)])
            #expect(state.isOffline && state.error?.code == .originUnreachable)
        }
        #expect(state.handle(.timeUp) == [.fetch(.always)])
        _ = state.handle(.fetched(.network("b")))
        #expect(state.handle(.read(.stored("b", 2), .automatic)) == [])
        #expect(!state.isOffline && state.error == nil)
    }

    // The request failed, although there is a value.
    @Test func staleValueInPlaceOfAResponseDoesNotEndTheError() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        _ = state.handle(.failed(.unreachable))
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        let marked = Delivery<String>.stored("a", 1, isInvalidated: true)
        #expect(state.handle(.read(marked, .automatic)) == [.fetch(.ifNeeded)])
        _ = state.handle(.fetched(.fallback("a", 1)))
        #expect(state.handle(.read(marked, .automatic)) == [.wait(State.pauseWhileOffline)])
        #expect(state.error?.code == .originUnreachable && state.isOffline && state.shown?.emission.isStale == true)
    }

    @Test func freshStoredValueEndsTheErrorAfterTheOriginsReturn() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        _ = state.handle(.failed(.unreachable))
        #expect(state.handle(.originReturned) == [.fetch(.ifNeeded)])
        _ = state.handle(.fetched(.stored("a", 1)))
        _ = state.handle(.read(.stored("a", 1), .automatic))
        #expect(state.error == nil && !state.isOffline)
    }

    @Test(
        arguments: [
            (.stored("b", 2), false, true),
            // The store reports the response that was shown before the failure, late.
            (.stored("a", 1), false, false),
            (.stored("b", 2, isStale: true), true, false),
            (.stored("b", 2, isInvalidated: true), false, false),
        ] as [(Delivery<String>, Bool, Bool)]
    )
    func newerResponseOfAnotherCallEndsTheError(found: Delivery<String>, isUpdate: Bool, endsError: Bool) {
        var state = settled(QueryOptions(updatedValues: .shown))
        _ = state.handle(.refreshRequested)
        _ = state.handle(.failed(.broken))
        _ = state.handle(.changed(.stored, isUpdate: isUpdate))
        _ = state.handle(.read(found, .automatic))
        #expect((state.error == nil) == endsError && state.shown?.emission.value == found.emission.value)
    }

    @Test func failureIsShownNextToTheValueUntilASuccess() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        _ = state.handle(.failed(.broken))
        #expect(state.error?.code == .status && !state.isOffline && state.shown?.emission.value == "a")
        _ = state.handle(.refreshRequested)
        #expect(state.error?.code == .status && state.isRefreshing)
        _ = state.handle(.fetched(.network("a")))
        _ = state.handle(.read(.stored("a", 2), .automatic))
        #expect(state.error == nil)
    }

    // MARK: Races

    @Test func changesDuringAReadLeadToOneMoreRead() {
        var state = settled()
        #expect(state.handle(.changed(.stored, isUpdate: false)) == [.read])
        for _ in 0..<3 { #expect(state.handle(.changed(.stored, isUpdate: false)) == []) }
        #expect(state.handle(.read(.stored("b", 2), .automatic)) == [.read])
        #expect(state.handle(.read(.stored("c", 3), .automatic)) == [])
        #expect(state.shown?.emission.value == "c")
    }

    @Test func responseThatWasRequestedBeforeAnUpdateDoesNotReplaceIt() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        // The response arrives before the change is reported.
        _ = state.handle(.fetched(.network("old")))
        #expect(state.handle(.read(.stored("update", 2, isStale: true), .automatic)) == [])
        #expect(state.shown?.emission.value == "update" && state.contentNumber == 2)
        _ = state.handle(.changed(.stored, isUpdate: true))
        #expect(state.handle(.read(.stored("update", 2, isStale: true), .automatic)) == [.fetch(.ifNeeded)])
    }

    @Test(arguments: [true, false]) func changeDuringAFetchIsFetchedAfterward(isUpdate: Bool) {
        var state = settled()
        _ = state.handle(.refreshRequested)
        _ = state.handle(.changed(isUpdate ? .stored : .invalidated, isUpdate: isUpdate))
        let found = Delivery<String>.stored(isUpdate ? "b" : "a", isUpdate ? 2 : 1, isInvalidated: !isUpdate)
        #expect(state.handle(.read(found, .automatic)) == [])
        _ = state.handle(.fetched(.network("old")))
        #expect(state.handle(.read(found, .automatic)) == [.fetch(.ifNeeded)])
    }

    // The purge kept the response out of the store, which still has the older one.
    @Test func olderValueNeverFollowsANewerOne() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        _ = state.handle(.fetched(.network("b")))
        let marked = Delivery<String>.stored("a", 1, isInvalidated: true)
        _ = state.handle(.read(marked, .automatic))
        #expect(state.shown?.emission.value == "b")
        // The purge is reported late. The response may be older than the purge.
        _ = state.handle(.changed(.invalidated, isUpdate: false))
        #expect(state.handle(.read(marked, .automatic)) == [.fetch(.ifNeeded)])
        #expect(state.shown?.emission.value == "b")
    }

    @Test func originsReturnDuringAFetchIsNotLost() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        #expect(state.handle(.originReturned) == [])
        #expect(state.handle(.failed(.unreachable)) == [.fetch(.ifNeeded)])
    }

    // MARK: The end

    @Test func nothingHappensAfterTheEnd() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        #expect(state.handle(.ended) == [.end])
        #expect(!state.isBusy && !state.isRefreshing)
        let late: [State.Event] = [
            .fetched(.network("b")), .changed(.invalidated, isUpdate: true), .timeUp, .originReturned,
            .refreshRequested, .failed(.broken), .read(.stored("b", 2), .automatic),
        ]
        for event in late { #expect(state.handle(event) == []) }
        #expect(state.shown?.emission.value == "a" && state.error == nil)
    }

    @Test func closedClientEndsIt() {
        var state = settled()
        _ = state.handle(.refreshRequested)
        #expect(state.handle(.failed(HoldfastError(code: .closed, message: "Closed."))) == [.end])
        #expect(state.isEnded && state.error?.code == .closed && state.shown?.emission.value == "a")
    }
}
