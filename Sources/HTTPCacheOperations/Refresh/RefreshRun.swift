import HTTPCache
import HTTPTypes

/// Decides the next step of a refresh. A pure value that only sees the events passed to it.
struct RefreshRun: Sendable {
    /// The next step.
    enum Action: Sendable, Hashable {
        /// Read a page from this position, then call ``add(_:)``.
        case read(RefreshCursor)
        /// Start a request, then pause for the interval between requests.
        case fetch(RefreshTarget)
        /// Stop. The report has the reason.
        case end
    }

    /// The result of a request.
    enum Ending: Sendable, Hashable {
        /// The stored response was confirmed or replaced.
        case refreshed
        /// The origin responded with a client error, such as 404, which was not stored. Its other
        /// responses may be refreshed.
        case rejected
        /// No response, a server error, or another response that promises no better results.
        case failed

        /// The result of a response from the origin.
        ///
        /// - Parameter isKept: whether the response was stored, or confirmed the stored response.
        init(_ status: HTTPResponse.Status, isKept: Bool) {
            switch status.code {
            case ..<400: self = .refreshed
            // The origin asks for fewer requests.
            case 429: self = .failed
            case ..<500: self = isKept ? .refreshed : .rejected
            default: self = .failed
            }
        }
    }

    /// The number of consecutive failures after which the refresh gives up.
    static let failureLimit = 20

    private(set) var report: RefreshReport
    /// The targets of the most recent page, in reverse order.
    private var waiting: [RefreshTarget] = []
    private var cursor: RefreshCursor? = RefreshCursor()
    private var failuresInARow = 0

    init(_ report: RefreshReport) { self.report = report }

    /// - Parameter isUnreachable: returns whether a target's origin currently counts as
    ///   unreachable.
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

    /// Records the end of a request.
    mutating func ended(_ ending: Ending) {
        switch ending {
        case .refreshed:
            report.refreshed += 1
            failuresInARow = 0
        case .rejected:
            report.failed += 1
            failuresInARow = 0
        case .failed:
            report.failed += 1
            failuresInARow += 1
        }
    }

    /// Ends the refresh, if it has not ended yet.
    @discardableResult
    mutating func end(_ state: RefreshReport.State) -> Action {
        if report.state == .running { report.state = state }
        waiting = []
        return .end
    }
}

extension OfflineMode {
    /// Whether purged responses may be fetched again.
    var mayRefresh: Bool {
        switch self {
        case .online, .automatic: true
        case .preferStored, .offline: false
        }
    }
}
