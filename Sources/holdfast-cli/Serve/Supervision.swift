import Foundation
import HTTPCacheOperations
import Holdfast
import HoldfastControl
import NIOCore

/// Reports to the service manager that the gateway is alive, and in which state. This works without
/// a control plane.
struct Supervision: Sendable {
    let manager: ServiceManager
    private let status: ServiceStatus
    private let watchdog: Watchdog?
    private let operations: any CacheOperations
    private let loops: LoopWatch
    private let logger: Logger

    /// - Parameter loops: the event loops that serve the gateway's clients.
    init(_ operations: any CacheOperations, loops: [any EventLoop], _ logger: Logger) {
        let environment = ProcessInfo.processInfo.environment
        self.operations = operations
        self.loops = LoopWatch(loops)
        self.logger = logger
        manager = ServiceManager(environment: environment)
        status = ServiceStatus(manager)
        do {
            watchdog = try Watchdog(environment: environment, process: ProcessInfo.processInfo.processIdentifier)
        } catch {
            logger.warning("Ignoring the watchdog of the service manager", metadata: ["watchdog.error": "\(error)"])
            watchdog = nil
        }
    }

    /// Runs until the task is canceled.
    func run() async {
        guard manager.isPresent else { return }
        await withTaskGroup(of: Void.self) { tasks in
            if let watchdog { tasks.addTask { await watchdog.run(manager, loops, logger: logger) } }
            tasks.addTask {
                let clock = SystemWallClock()
                await status.follow {
                    let store = await operations.storeCondition()
                    let origins = operations.reportedOrigins
                    return ServiceStatus.sentence(origins, operations.modeState, store, at: clock.now())
                }
            }
        }
    }

    /// Reports, once, that the gateway is shutting down.
    func beginEnd() {
        if status.end() { manager.notify(.stopping) }
    }
}
