/// Decides what a refresh does next. It is a value that only sees the events it is given.
struct RefreshRun: Sendable {
    /// The next step.
    enum Action: Sendable, Hashable {
        /// Read a page from here, then call ``add(_:)``.
        case read(RefreshCursor)
        /// Begin a request, and pause for the pace's interval.
        case fetch(RefreshTarget)
        /// Nothing more; the report has the reason.
        case end
    }

    /// The end of one request.
    enum Ending: Sendable, Hashable {
        case refreshed, failed
    }

    /// The requests in a row that may fail before it gives up.
    static let failureLimit = 20

    private(set) var report: RefreshReport
    /// The targets of the page that was read last, in reverse order.
    private var waiting: [RefreshTarget] = []
    private var cursor: RefreshCursor? = RefreshCursor()
    private var failuresInARow = 0

    init(_ report: RefreshReport) { self.report = report }

    /// - Parameter isUnreachable: whether the origin of a target counts as unreachable now.
    mutating func next(_ mode: OfflineMode, _ isUnreachable: (RefreshTarget) -> Bool) -> Action {
        guard report.state == .running else { return .end }
        guard mode.mayRefresh else { return end(.stoppedByMode) }
        guard failuresInARow < Self.failureLimit else { return end(.tooManyFailures) }
        while let target = waiting.popLast() {
            if isUnreachable(target) {
                report.unreachable += 1
                continue
            }
            guard report.requested < report.pace.atMost else { return end(.limitReached) }
            report.requested += 1
            return .fetch(target)
        }
        return cursor.map(Action.read) ?? end(.done)
    }

    mutating func add(_ page: RefreshPage) {
        waiting = page.targets.reversed()
        report.skipped += page.skipped
        cursor = page.next
    }

    /// A request has ended.
    mutating func ended(_ ending: Ending) {
        switch ending {
        case .refreshed:
            report.refreshed += 1
            failuresInARow = 0
        case .failed:
            report.failed += 1
            failuresInARow += 1
        }
    }

    /// Ends it, if it has not ended yet.
    @discardableResult
    mutating func end(_ state: RefreshReport.State) -> Action {
        if report.state == .running { report.state = state }
        waiting = []
        return .end
    }
}

extension OfflineMode {
    /// Whether responses are fetched because they were purged.
    var mayRefresh: Bool {
        switch self {
        case .online, .automatic: true
        case .preferStored, .offline: false
        }
    }
}
