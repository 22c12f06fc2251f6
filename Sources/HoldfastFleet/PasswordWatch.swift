import Logging
import Synchronization

/// Rereads the password of the fleet's server, so that it can be replaced while the program runs.
///
/// A password that cannot be read changes nothing, and is logged once.
final class PasswordWatch: Sendable {
    /// The time between two reads. No notification covers all the ways in which tools replace
    /// files.
    static let interval = Duration.seconds(60)

    private struct State {
        var password: String
        var problem: String?
    }

    private let read: @Sendable () throws -> String?
    private let replace: @Sendable (String) -> Void
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - password: the password in use.
    ///   - read: reads the password.
    ///   - replace: called with each new password.
    init(
        _ password: String,
        logger: Logger,
        read: @escaping @Sendable () throws -> String?,
        replace: @escaping @Sendable (String) -> Void
    ) {
        (self.read, self.replace, self.logger) = (read, replace, logger)
        state = Mutex(State(password: password))
    }

    /// Rereads the password.
    func reload() {
        state.withLock { state in
            do {
                let read = try read()
                state.problem = nil
                guard let password = read, password != state.password else { return }
                state.password = password
                replace(password)
                logger.notice("the fleet's password was reloaded")
            } catch {
                let problem = "\(error)"
                if problem != state.problem {
                    logger.error(
                        "the fleet's password was rejected; nothing changed",
                        metadata: ["error": "\(problem)"]
                    )
                }
                state.problem = problem
            }
        }
    }

    /// Why the password could not be read the last time; `nil` if it could.
    var problem: String? { state.withLock { $0.problem } }

    /// Rereads the password until the task is canceled.
    func run() async {
        while (try? await Task.sleep(for: Self.interval)) != nil { reload() }
    }
}
