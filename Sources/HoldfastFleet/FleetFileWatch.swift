import Logging
import Synchronization

/// Rereads files of `fleet`, so that they can be replaced while the program runs.
///
/// A file that cannot be used changes nothing, and is logged once.
final class FleetFileWatch: Sendable {
    /// The time between two reads. No notification covers all the ways in which tools replace
    /// files.
    static let interval = Duration.seconds(60)

    private let setting: String
    /// Rereads the files, and returns the settings whose values are new.
    private let reread: @Sendable () throws -> [String]
    private let logger: Logger
    private let lastProblem = Mutex<String?>(nil)

    /// - Parameters:
    ///   - setting: the setting that names the files.
    ///   - value: the value in use.
    ///   - changes: returns which of several settings differ between two values.
    ///   - read: reads the value; gets the value in use.
    ///   - replace: called with each new value. If it throws, the earlier value stays in use.
    init<Value: Equatable & Sendable>(
        _ setting: String,
        _ value: Value,
        changes: (@Sendable (_ earlier: Value, _ new: Value) -> [String])? = nil,
        logger: Logger,
        read: @escaping @Sendable (Value) throws -> Value?,
        replace: @escaping @Sendable (Value) throws -> Void
    ) {
        self.setting = setting
        self.logger = logger
        let current = Mutex(value)
        reread = {
            try current.withLock { value in
                guard let new = try read(value), new != value else { return [] }
                try replace(new)
                defer { value = new }
                return changes?(value, new) ?? [setting]
            }
        }
    }

    /// Rereads the files.
    func reload() {
        do {
            let settings = try reread()
            lastProblem.withLock { $0 = nil }
            for setting in settings {
                logger.notice("a file of the fleet was reloaded", metadata: ["setting": "\(setting)"])
            }
        } catch {
            let problem = "\(error)"
            let isNews = lastProblem.withLock { last in
                defer { last = problem }
                return last != problem
            }
            guard isNews else { return }
            logger.error(
                "a file of the fleet was rejected; nothing changed",
                metadata: ["setting": "\(setting)", "error": "\(problem)"]
            )
        }
    }

    /// Why the files could not be used the last time; `nil` if they could.
    var problem: String? { lastProblem.withLock { $0 } }

    /// Rereads the files until the task is canceled.
    func run() async {
        while (try? await Task.sleep(for: Self.interval)) != nil { reload() }
    }
}
