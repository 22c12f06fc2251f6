package import HTTPCacheSemantics
package import Logging
import ServiceLifecycle
import Synchronization

/// Rereads the token files while the gateway runs, so that a token can be replaced without a
/// restart.
///
/// It rereads them periodically, because no notification covers all the ways in which tools replace
/// files. A file that cannot be used changes nothing, and is logged once.
package final class TokenWatch: Service {
    private struct State {
        var tokens: [ControlToken]
        var problem: String?
    }

    /// Accepts the tokens.
    package let verifier: TokenVerifier
    private let read: @Sendable () throws(InvalidSetting) -> [ControlToken]
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the files for the first time.
    ///
    /// - Parameters:
    ///   - interval: the time between two reads.
    ///   - clock: the clock that measures the interval.
    ///   - read: reads the tokens from their files.
    /// - Throws: `InvalidSetting` if a file cannot be used.
    package init(
        every interval: Duration = .seconds(60),
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger,
        read: @escaping @Sendable () throws(InvalidSetting) -> [ControlToken]
    ) throws(InvalidSetting) {
        let tokens = try read()
        verifier = try TokenVerifier(tokens)
        (self.read, self.logger) = (read, logger)
        (self.interval, self.clock) = (interval, clock)
        state = Mutex(State(tokens: tokens))
    }

    /// Rereads the files, and replaces the tokens if one changed.
    package func reload() {
        state.withLock { state in
            do throws(InvalidSetting) {
                let tokens = try read()
                let isChange = tokens != state.tokens
                if isChange { try verifier.replace(tokens) }
                state = State(tokens: tokens)
                if isChange { logger.notice("Token files reloaded") }
            } catch {
                let problem = "\(error)"
                if problem != state.problem {
                    logger.error("Token files rejected; nothing changed", metadata: ["error": "\(problem)"])
                }
                state.problem = problem
            }
        }
    }

    /// Why the files could not be used when they were last read; `nil` if they could.
    package var problem: String? { state.withLock { $0.problem } }

    /// Rereads the files until its task is canceled, or its service group shuts down.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await self.clock.sleep(for: self.interval)) != nil { self.reload() }
        }
    }
}
