import CommandLineSupport
import Foundation
import Holdfast
import HoldfastControl
import HoldfastGateway
import NIOCore

extension GatewayProcess {
    /// Prepares the control plane.
    ///
    /// A socket that the user named must work. One that was chosen by default must not keep a
    /// gateway from starting that started before: on a read-only file system, or in a folder whose
    /// path is too long. Another process that listens there is an error in both cases.
    ///
    /// - Throws: `ControlSocket.Refusal`
    static func makeControl(
        _ settings: ServeSettings,
        _ engine: CacheEngine,
        _ store: CacheManager,
        on group: any EventLoopGroup,
        _ logger: Logger
    ) throws -> ControlServer? {
        let socket: ControlSocket
        switch settings.control {
        case .nowhere: return nil
        case .standard: socket = ControlSocket(store: store.folder, environment: ProcessInfo.processInfo.environment)
        case .socket(let path): socket = ControlSocket(path: absolute(path))
        }
        do {
            return try ControlServer(
                socket: socket,
                store: store.folder,
                operations: EngineOperations(engine: engine, store: store),
                loops: Array(group.makeIterator()),
                logger: logger,
                whenListening: { StandardStream.error.line("holdfast controlled by \($0.path)") }
            )
        } catch let refusal as ControlSocket.Refusal where settings.control == .standard && !refusal.isInUse {
            logger.warning("There is no control plane", metadata: ["control.error": "\(refusal)"])
            return nil
        }
    }

    /// A relative path is relative to the working directory, which may change.
    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}
