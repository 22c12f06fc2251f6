import Holdfast
import HoldfastConfiguration
import HoldfastControl
import HoldfastGateway
import LibC
import ServiceLifecycle
import Synchronization
import UnixSignals

extension GatewayProcess {
    /// Handles signals until the task is canceled.
    func obey(
        _ signals: UnixSignalsSequence,
        _ ending: EndOfProcess,
        _ services: ServiceGroup,
        _ handover: HandoverServer?
    ) async {
        await withTaskGroup(of: Void.self) { delays in
            defer { delays.cancelAll() }
            for await signal in signals {
                if signal == .sigusr1 {
                    accessLog.reopen()
                    continue
                }
                let action = ending.sequence.withLock {
                    $0.receive(EndSequence.Signal(signal), delay: configuration.drainDelay)
                }
                switch action {
                case .ignore: break
                case .reload: await reload()
                case .delay(let time):
                    beginEnd()
                    logger.notice(
                        "Stopping after a delay, and serving until then; a second signal skips the delay",
                        metadata: ["signal": "\(signal)", "drain.delay": "\(time)"]
                    )
                    delays.addTask {
                        try? await Task.sleep(for: time)
                        guard !Task.isCancelled, ending.sequence.withLock({ $0.finishDelay() }) else { return }
                        await drain(services, handover)
                    }
                case .drain:
                    beginEnd()
                    logger.notice("Stopping; a second signal stops immediately", metadata: ["signal": "\(signal)"])
                    handover?.gatewayEnds()
                    await services.triggerGracefulShutdown()
                case .endDelay: await drain(services, handover)
                case .exit:
                    // The store survives the end of the process. In-flight exchanges are aborted,
                    // as a second signal requests.
                    await events.close(within: .milliseconds(100))
                    _exit(128 + signal.rawValue)
                }
            }
        }
    }

    private func reload() async {
        supervision.manager.notify(.reloading)
        _ = await configuration.reload(by: "SIGHUP")
        supervision.manager.notify(.ready)
    }

    /// Reports everywhere that the gateway is shutting down.
    func beginEnd() {
        server.beginEnding()
        health.enter(.ending)
        control?.enter(.ending)
        supervision.beginEnd()
    }

    /// Ends the delay and starts the graceful shutdown.
    private func drain(_ services: ServiceGroup, _ handover: HandoverServer?) async {
        logger.notice("Delay ended, accepting no more connections; another signal stops immediately")
        handover?.gatewayEnds()
        await services.triggerGracefulShutdown()
    }
}

/// The state of the shutdown sequence, shared by the signals, the delay and a handover.
final class EndOfProcess: Sendable {
    let sequence = Mutex(EndSequence())
}

extension EndSequence.Signal {
    fileprivate init(_ signal: UnixSignal) {
        switch signal {
        case .sighup: self = .reload
        case .sigint: self = .interrupt
        default: self = .terminate
        }
    }
}
