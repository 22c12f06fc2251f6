import CommandLineSupport
import Foundation
import HTTPCacheSemantics
import Holdfast
import HoldfastControl
import HoldfastGateway

extension InheritedSocket {
    /// Returns the sockets that a service manager passes to this process, in order. They now belong
    /// only to this process.
    ///
    /// - Throws: `CommandFailure` if the manager's variables are malformed or a socket cannot be
    ///   used. The gateway must not listen elsewhere instead, because its clients would wait
    ///   forever.
    static func fromServiceManager() throws -> [InheritedSocket] {
        let process = ProcessInfo.processInfo
        do {
            let activation = try SocketActivation(
                environment: process.environment,
                process: process.processIdentifier,
                limit: GatewayListener.limit
            )
            try activation.take()
            return try activation.sockets.map { socket in
                do {
                    return try InheritedSocket(descriptor: socket.descriptor)
                } catch {
                    let name = socket.name.isEmpty ? "" : " (\(socket.name))"
                    throw CommandFailure("A socket of the service manager\(name) cannot be used: \(error)")
                }
            }
        } catch let invalid as InvalidSetting {
            throw CommandFailure(invalid.description)
        }
    }
}
