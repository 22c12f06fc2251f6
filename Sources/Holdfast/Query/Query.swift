public import HTTPCache
import HTTPCacheSemantics
public import HoldfastContent
public import Observation

/// The state of a view: an endpoint's value, first stored and then fresh, and what is known about
/// it.
///
/// ```swift
/// let feed = client.query(GetFeed(userID: "harbour"))
/// if let value = feed.value { show(value, isOld: feed.isStale) }
/// if feed.isLoading { showSpinner() }
/// ```
///
/// A query begins when it is created, and ends when it is released. Any number of queries of one
/// endpoint share their requests and stored responses. A query asks the origin
///
/// * at the start, unless a fresh response is stored
/// * when its stored response is invalidated, removed, updated or set, by any part of the program
/// * when its origin responds again after an outage, or the client's mode allows the network again
/// * at an interval, if ``QueryOptions/interval`` is set
/// * when ``refresh()`` is called
///
/// It also shows each value that any other call stores. If the origin fails, the value stays, and
/// ``error`` is set. All properties can be observed with `withObservationTracking` and SwiftUI.
@MainActor @Observable
public final class Query<Value: Sendable> {
    /// The value; `nil` until there is one. It is not set again while the content is the same.
    public private(set) var value: Value?
    /// The source of the value: `store`, `network` (also for a stored value that the origin has
    /// confirmed) or `substitute`.
    public private(set) var source: CacheResponse.Source?
    /// Whether the value was past its freshness lifetime, or invalidated, when it was last read or
    /// fetched. A fresh value does not become stale by itself here.
    public private(set) var isStale = false
    /// Whether there is no value yet, but one may come.
    public private(set) var isLoading = true
    /// Whether the origin is asked for a newer value than the one that is shown.
    public private(set) var isRefreshing = false
    /// Whether the origin is unreachable or may not be asked (`offline`), as far as the client
    /// knows.
    public private(set) var isOffline = false
    /// The last failure, until a success. It stays while further requests fail, whether the value
    /// is fresh or stale, and ends when the origin responds or another call stores its response.
    ///
    /// A stale stored value that is used in place of a failed request neither sets nor ends an
    /// error: see ``isStale`` and ``isOffline``. If the client is closed, the code is `closed`, and
    /// the query has ended.
    public private(set) var error: HoldfastError?

    /// The time since the origin generated or last confirmed the value, by the client's clock. It
    /// grows without being reported to observers.
    public var age: Duration? {
        guard let shown, let client else { return nil }
        return shown.age + .milliseconds(max(0, client.clock.now().milliseconds(since: shown.at)))
    }

    private struct Shown {
        var age: Duration
        var at: Timestamp
    }

    private var shown: Shown?
    @ObservationIgnored private var state: QueryState<Value>
    @ObservationIgnored private var shownNumber = 0
    @ObservationIgnored private var contentNumber = 0
    @ObservationIgnored private var watched: WatchedTargets?
    private let client: CachingClient?
    private let call: Call<Value>
    private let work = QueryWork()

    /// Creates the query of a call's values, and starts it.
    ///
    /// ``error`` says so if the call has no client (code `noClient`), if its endpoint is a mutation
    /// (`notRepeatable`), or if no request can be made.
    public init(_ call: Call<Value>, options: QueryOptions = QueryOptions()) {
        self.call = call.cache
        client = call.endpoint.isMutation ? nil : call.client ?? CachingClient.current
        state = QueryState(options, skipsStaleValues: call.options.staleValues == .skipped)
        if let client { start(client) } else { refuse() }
    }

    /// Fetches the origin's value in any case, and returns when the query shows the result.
    public func refresh() async {
        if watched == nil, let client { start(client) }
        handle(.refreshRequested)
        while state.isBusy, !Task.isCancelled, let task = work.task(state.task) { await task.value }
    }

    /// Ends the query before it is released. The value stays.
    public func stop() { handle(.ended) }

    // MARK: Driving the state

    /// Ends the query of a call that cannot be repeated, or that has no client.
    private func refuse() {
        do {
            _ = try call.resolvedClient()
            handle(.failed(HoldfastError(repeating: call)))
        } catch {
            handle(.failed(HoldfastError(error, target: call.name)))
        }
        handle(.ended)
    }

    private func start(_ client: CachingClient) {
        guard !state.isEnded else { return }
        let task = Task { [weak self, call] in
            do {
                let prepared = try await client.prepareLookup(call)
                self?.watch(prepared, client)
            } catch {
                self?.handle(.failed(HoldfastError(error, target: call.name)))
            }
        }
        work.set(.start, task)
    }

    /// Reports all changes from now on.
    private func watch(_ prepared: PreparedCall, _ client: CachingClient) {
        guard watched == nil, !state.isEnded else { return }
        let targets = WatchedTargets(client.engine, prepared.request)
        watched = targets
        let changes = client.followed.follow(targets.changes)
        let following = Task { [weak self] in
            for await change in changes { self?.handle(.changed(change.kind, isUpdate: change.isUpdate)) }
            // The client or the store was closed, perhaps before the query began.
            if !Task.isCancelled, let self { handle(.failed(HoldfastError(endingQueryOf: call))) }
        }
        work.set(.changes, following)
        let modes = client.modeChanges.changes(limit: 1) { _ in true }
        work.set(.mode, Task { [weak self] in for await _ in modes { self?.handle(.modeChanged) } })
        if let target = TargetURI(request: prepared.request.head) {
            watch(client.engine.origin(of: target), client.engine.origins)
        }
        handle(.started)
    }

    private func watch(_ origin: Origin, _ origins: OriginRegistry) {
        let changes = origins.changes.changes(limit: 1) { $0 == origin }
        let watching = Task { [weak self] in
            for await _ in changes { self?.handle(origins.isOpen(origin) ? .originLost : .originReturned) }
        }
        work.set(.origin, watching)
        if origins.isOpen(origin) { handle(.originLost) }
    }

    private func handle(_ event: QueryState<Value>.Event) {
        for action in state.handle(event) { perform(action) }
        show()
    }

    private func perform(_ action: QueryState<Value>.Action) {
        guard let client else { return }
        switch action {
        case .read: work.set(.read, reading(client))
        case .fetch(let fetching): work.set(.fetch, self.fetching(fetching, client))
        case .wait(let pause): work.set(.wait, pause.map { waiting($0, client.sleeper) })
        case .end:
            watched = nil
            work.cancel()
        }
    }

    private func reading(_ client: CachingClient) -> Task<Void, Never> {
        Task { [weak self, call] in
            do {
                let prepared = try await client.prepareLookup(call)
                let stored = try await client.stored(call, prepared)
                self?.watched?.watch(stored?.redirects)
                self?.handle(.read(stored, prepared.reading.info.mode))
            } catch {
                let isClosed = (error as? HoldfastError)?.code == .closed
                // A request reports any other error again.
                self?.handle(isClosed ? .failed(HoldfastError(error, target: call.name)) : .read(nil, client.mode))
            }
        }
    }

    private func fetching(_ fetching: QueryState<Value>.Fetching, _ client: CachingClient) -> Task<Void, Never> {
        Task { [weak self, call, shown = state.shown] in
            do {
                let result =
                    switch fetching {
                    case .ifNeeded: try await client.deliver(call, .standard)
                    case .always: try await client.network(call, after: shown)
                    }
                self?.watched?.watch(result.redirects)
                self?.handle(.fetched(result))
            } catch {
                self?.handle(.failed(HoldfastError(error, target: call.name)))
            }
        }
    }

    private func waiting(_ pause: Duration, _ sleeper: any Clock<Duration>) -> Task<Void, Never> {
        Task { [weak self] in
            guard (try? await sleeper.sleep(for: pause)) != nil else { return }
            self?.handle(.timeUp)
        }
    }

    /// Shows the state. A property that does not change is not set, because its observers would
    /// redraw.
    private func show() {
        let emission = state.shown?.emission
        if contentNumber != state.contentNumber {
            contentNumber = state.contentNumber
            value = emission?.value
        }
        if shownNumber != state.shownNumber, let emission, let client {
            shownNumber = state.shownNumber
            shown = Shown(age: emission.age, at: client.clock.now())
        }
        if source != emission?.source { source = emission?.source }
        if isStale != emission?.isStale ?? false { isStale.toggle() }
        if isLoading != state.isLoading { isLoading.toggle() }
        if isRefreshing != state.isRefreshing { isRefreshing.toggle() }
        if isOffline != state.isOffline { isOffline.toggle() }
        if error?.code != state.error?.code || error?.message != state.error?.message { error = state.error }
    }
}

extension QueryState {
    /// The task that a busy query waits for.
    fileprivate var task: QueryWork.Kind { fetch != nil ? .fetch : isReading ? .read : .start }
}

extension HoldfastError {
    fileprivate init(endingQueryOf call: Call<some Sendable>) {
        self.init(
            code: .closed,
            message: "The query for '\(call.name)' has ended, because its client or the client's store was closed. "
                + "Open a client, and create the query again."
        )
    }

    fileprivate init(repeating call: Call<some Sendable>) {
        self.init(
            code: .notRepeatable,
            message: "The endpoint '\(call.name)' changes data at its origin, so a query, which repeats its request, "
                + "must not send it. Use 'client.fetch', or set 'isMutation' to false."
        )
    }
}

extension CachingClient {
    /// Creates the state of a view for an endpoint; see ``Query``.
    ///
    /// ```swift
    /// let feed = client.query(GetFeed(userID: "harbour"), every: .seconds(60))
    /// ```
    ///
    /// - Parameter interval: the time from a response to the next request. By default, the query
    ///   does not ask at intervals.
    @MainActor public func query<E: Endpoint>(_ endpoint: E, every interval: Duration? = nil) -> Query<E.Response> {
        Query(call(endpoint), options: QueryOptions(interval: interval))
    }
}
