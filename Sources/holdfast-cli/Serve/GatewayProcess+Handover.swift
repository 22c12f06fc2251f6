import Holdfast
import HoldfastControl
import HoldfastGateway
import LibC
import LocalSockets
import ServiceLifecycle
import Synchronization

extension GatewayProcess {
    /// Creates the service that hands over the listeners to the process that replaces this one.
    ///
    /// - Parameter end: gets a value when the other process is ready to open the store.
    /// - Returns: `nil` if the store's folder cannot contain the socket.
    func makeHandover(_ store: CacheManager, _ end: AsyncStream<Void>.Continuation) -> HandoverServer? {
        let location = HandoverSocket.location(inStore: store.folder)
        do {
            try location.checkLength()
        } catch {
            // 'holdfast serve --takeover' reports this. Nothing else needs the socket.
            logger.info("Handover is not available", metadata: ["handover.error": "\(error)"])
            return nil
        }
        do {
            let gateway = HandedGateway(server: server, freedAddresses: freedAddresses, continuation: end)
            return try HandoverServer(at: location, user: geteuid(), gateway: gateway, logger: logger)
        } catch {
            logger.warning("Handover is not available", metadata: ["handover.error": "\(error)"])
            return nil
        }
    }

    /// Ends the gateway after another process has taken over its listeners.
    func endAfterHandover(_ ending: EndOfProcess, _ services: ServiceGroup) async {
        switch ending.sequence.withLock({ $0.receive(.handover, delay: .zero) }) {
        case .drain, .endDelay:
            beginEnd()
            logger.notice("Another process has taken over the listeners; releasing the store")
            await services.triggerGracefulShutdown()
        // A signal has already started the end.
        case .delay, .reload, .exit, .ignore: break
        }
    }
}

/// The running gateway, for the service that hands it over.
private struct HandedGateway: HandingOver {
    let server: GatewayServer
    let freedAddresses: [String]
    let continuation: AsyncStream<Void>.Continuation

    var drainTime: Duration { server.drainTime }

    func listeners() async throws -> [PassedListener] { try await server.passedListeners() }
    func drain() async { await server.drainForHandover() }
    func resume() async { await server.acceptAgain() }

    func end() {
        server.leaveListeners()
        continuation.yield()
    }
}
