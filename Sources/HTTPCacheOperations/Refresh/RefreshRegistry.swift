import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import Synchronization

/// The refreshes of an engine: running refreshes, and the most recent refreshes that have ended.
///
/// A refresh reads purged responses page by page and repeats their requests, just as clients would.
/// Fetches are shared, breakers and origin permits apply, and a response that was fetched in the
/// meantime is served from the store without a request. All refreshes together count as one client,
/// so they leave a quarter of an origin's permits to other clients.
final class RefreshRegistry: Sendable {
    /// The maximum number of running refreshes.
    static let limit = 4
    /// The maximum number of concurrent requests of one refresh. Concurrency keeps the rate up even
    /// if origins are slow.
    static let width = 8
    /// The number of ended refreshes that are remembered.
    static let kept = 100

    private struct State {
        /// The number of permits reserved for refreshes whose purge is not done yet.
        var reserved = 0
        var running: [Int64: Running] = [:]
        var ended: [RefreshReport] = []
        var isClosed = false
        var nextNumber: Int64 = 0
    }

    private struct Running {
        var report: RefreshReport
        var task: Task<Void, Never>
    }

    private let state = Mutex(State())

    /// Reserves a permit before anything is purged. Afterwards, call ``begin(_:on:reading:)`` or
    /// ``release()``.
    ///
    /// - Throws: ``RefreshRefusal``
    func reserve(_ mode: OfflineMode) throws(RefreshRefusal) {
        guard mode.mayRefresh else { throw .mode(mode) }
        let isFree = state.withLock { state in
            guard !state.isClosed, state.running.count + state.reserved < Self.limit else { return false }
            state.reserved += 1
            return true
        }
        if !isFree { throw .tooMany(limit: Self.limit) }
    }

    /// Returns a permit.
    func release() { state.withLock { $0.reserved -= 1 } }

    /// The running refreshes, followed by ended refreshes, newest first.
    var reports: [RefreshReport] {
        state.withLock { state in
            state.running.sorted { $0.key < $1.key }.map(\.value.report) + state.ended.reversed()
        }
    }

    /// Starts a refresh with a reserved permit.
    ///
    /// - Parameter read: reads a page of the purged responses.
    func begin(
        _ report: RefreshReport,
        on engine: CacheEngine,
        reading read: @escaping @Sendable (RefreshCursor) async throws -> RefreshPage
    ) {
        state.withLock { state in
            state.reserved -= 1
            guard !state.isClosed else { return }
            state.nextNumber += 1
            let number = state.nextNumber
            // The task belongs to the engine, not to the request that started it. It keeps the
            // engine alive until it ends or `close` ends it.
            let task = Task { [self] in
                let report = await run(report, number, engine, read)
                finish(number, report)
                engine.logger.notice("Refresh ended", metadata: report.metadata)
            }
            state.running[number] = Running(report: report, task: task)
        }
    }

    /// Ends every refresh. Returns after the last refresh has reported its results.
    func close() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return state.running.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func finish(_ number: Int64, _ report: RefreshReport) {
        state.withLock { state in
            state.running[number] = nil
            state.ended.append(report)
            if state.ended.count > Self.kept { state.ended.removeFirst() }
        }
    }

    /// Runs a refresh until it ends or is canceled.
    private func run(
        _ report: RefreshReport,
        _ number: Int64,
        _ engine: CacheEngine,
        _ read: @Sendable (RefreshCursor) async throws -> RefreshPage
    ) async -> RefreshReport {
        var run = RefreshRun(report)
        await withTaskGroup(of: RefreshRun.Ending.self) { group in
            var underWay = 0
            while !Task.isCancelled {
                let action = run.next(engine.mode) { engine.isUnreachable($0) }
                // The refresh has not ended until its requests have ended.
                if action != .end { state.withLock { $0.running[number]?.report = run.report } }
                switch action {
                case .end: return await Self.drain(&group, &run)
                case .read(let cursor):
                    do { run.add(try await read(cursor)) } catch {
                        run.end(Task.isCancelled ? .shutDown : .storeFailed)
                    }
                case .fetch(let target):
                    group.addTask { await engine.refresh(target) }
                    underWay += 1
                    if underWay == Self.width, let ending = await group.next() {
                        run.ended(ending)
                        underWay -= 1
                    }
                    try? await engine.sleeper.sleep(for: run.report.pace.interval)
                }
            }
            run.end(.shutDown)
            await Self.drain(&group, &run)
        }
        return run.report
    }

    private static func drain(_ group: inout TaskGroup<RefreshRun.Ending>, _ run: inout RefreshRun) async {
        while let ending = await group.next() { run.ended(ending) }
    }
}

extension CacheEngine {
    fileprivate func isUnreachable(_ target: RefreshTarget) -> Bool {
        mode == .automatic && TargetURI(request: target.request).map { origins.isOpen(origin(of: $0)) } == true
    }

    /// Repeats a request and reads its response to the end, so that the response is stored.
    fileprivate func refresh(_ target: RefreshTarget) async -> RefreshRun.Ending {
        do {
            var request = repeating(target.request)
            request.client = .refreshes
            let response = try await respond(to: request)
            if response.source == .store { return response.isStale ? .failed : .refreshed }
            if !response.isValidated { for try await _ in response.body {} }
            if response.head.status.kind == .redirection, response.outcome.notStored == .storedSuccess {
                logger.notice(
                    "Refresh was redirected, so the stored response was kept",
                    metadata: [
                        "server.address": "\(target.request.authority ?? "")",
                        "http.response.status_code": "\(response.head.status.code)",
                    ]
                )
                return .failed
            }
            return RefreshRun.Ending(
                response.head.status,
                isKept: response.isValidated || response.outcome.isStored
            )
        } catch {
            return .failed
        }
    }
}

extension RefreshReport {
    fileprivate var metadata: Logger.Metadata {
        [
            "refresh.state": "\(state.rawValue)", "refresh.sequence": "\(sequence)",
            "refresh.requested": "\(requested)",
            "refresh.refreshed": "\(refreshed)", "refresh.failed": "\(failed)", "refresh.unreachable": "\(unreachable)",
            "refresh.skipped": "\(skipped)", "control.client": "\(client)",
        ]
    }
}
