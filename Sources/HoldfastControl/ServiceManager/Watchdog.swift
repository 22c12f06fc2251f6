package import HTTPCacheSemantics
package import Logging

/// Sends keep-alive messages to a service manager that restarts a silent service, as with systemd's
/// `WatchdogSec=`.
///
/// Keep-alive messages are sent only while every event loop responds, so a gateway that hangs is
/// restarted. The watchdog runs as a task, so it also stops sending if the process's tasks hang.
package struct Watchdog: Sendable {
    /// The time after which the manager restarts the process.
    let limit: Duration

    /// Reads `WATCHDOG_USEC`, and `WATCHDOG_PID` if it is set. An empty variable counts as unset.
    ///
    /// - Parameter process: the ID of this process.
    /// - Returns: `nil` if the manager does not watch this process.
    /// - Throws: `InvalidSetting`
    package init?(environment: [String: String], process: Int32) throws(InvalidSetting) {
        guard let text = environment["WATCHDOG_USEC"], !text.isEmpty else { return nil }
        guard let microseconds = Self.number(text, upTo: .max) else {
            throw InvalidSetting(
                "'WATCHDOG_USEC' must be a number of microseconds from 1 to \(Int64.max), "
                    + "not '\(ControlProblem.shown(text))'. "
                    + "No keep-alives are sent. Set 'WatchdogSec=' in the unit."
            )
        }
        if let text = environment["WATCHDOG_PID"], !text.isEmpty {
            guard let watched = Self.number(text, upTo: Int64(Int32.max)) else {
                throw InvalidSetting(
                    "'WATCHDOG_PID' must be a process ID, not '\(ControlProblem.shown(text))'. "
                        + "No keep-alives are sent. Do not set the variable yourself; the service manager sets it."
                )
            }
            guard watched == Int64(process) else { return nil }
        }
        limit = .microseconds(microseconds)
    }

    private static func number(_ text: String, upTo limit: Int64) -> Int64? {
        guard text.utf8.allSatisfy(\.isDigit), let number = Int64(text) else { return nil }
        return (1...limit).contains(number) ? number : nil
    }

    /// The time between keep-alive messages.
    var interval: Duration { max(limit / 2, .milliseconds(1)) }

    /// The time until the next check after a loop did not respond, or after a message could not be
    /// sent. It is short, so that a loop that recovers in time prevents the restart.
    var retryInterval: Duration { max(min(limit / 8, .seconds(1)), .milliseconds(1)) }

    /// Sends keep-alive messages until the task is canceled.
    package func run(
        _ manager: ServiceManager,
        _ loops: LoopWatch,
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) async {
        var isSilent = false
        while true {
            let stuck = await loops.stuckLoops()
            // The result of a canceled check is not valid.
            if Task.isCancelled { return }
            if !stuck.isEmpty, !isSilent {
                logger.error(
                    "Event loops do not respond; no keep-alives are sent to the service manager until they do",
                    metadata: ["loops": "\(stuck)", "watchdog.limit": "\(limit)"]
                )
            }
            isSilent = !stuck.isEmpty
            let isSent = stuck.isEmpty && manager.notify(.alive)
            try? await clock.sleep(for: isSent ? interval : retryInterval)
        }
    }
}
