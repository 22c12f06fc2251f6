import EventLoops
import LibC
import NIOCore
import NIOPosix
import Synchronization

/// Writes lines to a file, a pipe or a terminal, on its own thread.
///
/// The sources limit how many lines wait here; see ``Waiting``.
final class LogWriter: Sendable {
    /// Counts one source's bytes that are not written yet.
    final class Waiting: Sendable {
        private let count = Atomic(0)
        var bytes: Int { count.load(ordering: .relaxed) }
        func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
    }

    /// Whole lines.
    struct Batch: Sendable {
        var bytes: ByteBuffer
        var lines: Int
        var waiting: Waiting
    }

    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let output: Mutex<LogOutput>
    private let losses: Mutex<LogLosses>
    private let dropped = Atomic<UInt64>(0)
    /// The time when writing must stop.
    private let end = Mutex<NIODeadline?>(nil)
    private let wanted: Mutex<AccessLog.Destination>
    /// Counts changes of ``wanted`` and requests to reopen it.
    private let openings = Atomic(1)
    /// Why the destination could not be opened the last time.
    private let problem = Mutex<String?>(nil)
    private let tell: @Sendable (LogLosses.Report, UInt64) -> Void
    private let tellProblem: @Sendable (String) -> Void

    /// - Parameters:
    ///   - tell: called when lines start to be lost and when they no longer are, with the total
    ///     number of dropped lines.
    ///   - tellProblem: called when the destination cannot be opened, once for each reason.
    init(
        _ destination: AccessLog.Destination,
        tell: @escaping @Sendable (LogLosses.Report, UInt64) -> Void,
        tellProblem: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.tellProblem = tellProblem
        wanted = Mutex(destination)
        output = Mutex(LogOutput())
        losses = Mutex(LogLosses())
        self.tell = tell
        thread.start()
    }

    /// Why the destination cannot be opened, as a sentence; `nil` if it is open.
    var openingProblem: String? { problem.withLock { $0 } }

    var droppedCount: UInt64 { dropped.load(ordering: .relaxed) }

    /// Counts lines that could not be queued.
    func drop(_ lines: Int) { dropped.add(UInt64(lines), ordering: .relaxed) }

    func write(_ batch: Batch) {
        thread.submit { state in
            defer { batch.waiting.add(-batch.bytes.readableBytes) }
            guard case .active = state else { return self.drop(batch.lines) }
            self.perform(batch)
        }
    }

    func write(to destination: AccessLog.Destination) {
        wanted.withLock { $0 = destination }
        reopen()
    }

    func reopen() {
        openings.add(1, ordering: .releasing)
        // The new file is created immediately, even if no request arrives.
        thread.submit { _ in self.output.withLock { _ = self.open(&$0) } }
    }

    /// Returns when all lines are written, or when the time is up.
    func close(within time: Duration) async {
        end.withLock { $0 = .now() + time.timeAmount }
        let closing = Closing()
        // The thread may hang in a system call, for example on a stopped terminal. So the timer
        // runs elsewhere.
        let alarm = Task {
            try? await Task.sleep(for: time + .milliseconds(500))
            closing.finish()
        }
        await withCheckedContinuation { continuation in
            closing.continuation.withLock { $0 = continuation }
            thread.submit { _ in
                self.report(nil)
                self.output.withLock { $0.close() }
                closing.finish()
            }
        }
        alarm.cancel()
        thread.shutdownGracefully { _ in }
    }

    /// A call that waits until writing has ended, or until the time is up.
    private final class Closing: Sendable {
        let continuation = Mutex<CheckedContinuation<Void, Never>?>(nil)

        func finish() { continuation.withLock { $0.take() }?.resume() }
    }

    // MARK: On the thread

    /// Opens the wanted destination unless it is open. A file that was deleted is created again.
    ///
    /// - Returns: the system's error; `nil` on success.
    private func open(_ output: inout LogOutput) -> Int32? {
        let opening = openings.load(ordering: .acquiring)
        guard output.opening != opening || !output.isOpen || output.isDeleted else { return nil }
        output.opening = opening
        let destination = wanted.withLock { $0 }
        let failure = output.open(destination)
        note(failure.map { destination.problem($0) })
        return failure
    }

    /// Every batch tries to open a destination that is not open, so the same problem is told once.
    private func note(_ text: String?) {
        let isNew = problem.withLock { known in
            defer { known = text }
            return known != text
        }
        if isNew, let text { tellProblem(text) }
    }

    private func perform(_ batch: Batch) {
        var bytes = batch.bytes
        var failure: Int32?
        output.withLock { output in
            while bytes.readableBytes > 0, failure == nil {
                // Both parts of a line go to the same destination.
                if !output.isInLine { failure = open(&output) }
                guard failure == nil else { break }
                switch output.write(&bytes) {
                case .written: break
                case .wait:
                    report(EAGAIN)
                    if isOver { failure = EAGAIN }
                case .failed(let code): failure = code
                }
            }
            if failure != nil { output.abandon() }
        }
        if failure != nil { drop(bytes.readableBytesView.count { $0 == UInt8(ascii: "\n") }) }
        report(failure)
    }

    /// Whether the time for writing is up.
    private var isOver: Bool { end.withLock { $0.map { NIODeadline.now() > $0 } ?? false } }

    /// Reports when lines start to be lost, and when they no longer are.
    private func report(_ failure: Int32?) {
        let count = droppedCount
        let report = losses.withLock { $0.note(dropped: count, failure: failure, at: .now()) }
        if report != .none { tell(report, count) }
    }
}

extension AccessLog.Destination {
    /// Says why a destination cannot be opened, and what to do.
    fileprivate func problem(_ code: Int32) -> String {
        guard case .file(let path) = self else { return LogLosses.reason(code) }
        let advice: String
        switch code {
        case ENOENT, ENOTDIR: advice = "Create its folder; later lines are then written."
        case EACCES, EPERM, EROFS: advice = "Allow this process to write it, or change 'log.to' and reload."
        default: advice = "Correct this, or change 'log.to' and reload."
        }
        return "'\(path)' cannot be opened: \(String(cString: strerror(code))). \(advice)"
    }
}

/// Decides when to report lost lines: once when losses begin and once when they end. If losses
/// begin and end repeatedly, not every change is reported.
struct LogLosses {
    enum Report: Hashable {
        case none
        case begin(Int32?)
        /// The number of lines that were lost.
        case end(UInt64)
    }

    /// The minimum time between two reports that losses began.
    static let pause = TimeAmount.seconds(10)

    /// Describes why lines are lost.
    static func reason(_ code: Int32?) -> String {
        guard let code, code != EAGAIN else { return "the output accepts them too slowly" }
        return String(cString: strerror(code))
    }

    private var known: UInt64 = 0
    /// The number of lines lost before the reported loss began, and when it was reported.
    private var begun: (count: UInt64, at: NIODeadline)?
    private var lastBegin: NIODeadline?

    /// Records the losses so far, and decides what to report.
    ///
    /// - Parameters:
    ///   - dropped: the number of lines lost so far.
    ///   - failure: the reason why lines cannot be written now; `nil` if they can.
    mutating func note(dropped: UInt64, failure: Int32?, at now: NIODeadline) -> Report {
        let isLosing = dropped > known
        defer { known = dropped }
        if let begun {
            guard !isLosing, failure == nil else { return .none }
            self.begun = nil
            return .end(dropped - begun.count)
        }
        guard isLosing, lastBegin.map({ now - $0 >= Self.pause }) ?? true else { return .none }
        begun = (known, now)
        lastBegin = now
        return .begin(failure)
    }
}
