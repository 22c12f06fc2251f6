import Foundation
import Synchronization

/// An origin server with its own port, which it keeps while it is unreachable.
final class Origin: Sendable {
    let world: World
    private let state = Mutex(State())

    private struct State {
        var listener: Int32?
        var port = 0
        var connections: Set<Int32> = []
        var accepted = 0
    }

    init(_ world: World) { self.world = world }

    var port: Int { state.withLock { $0.port } }

    /// The number of open connections.
    var connections: Int { state.withLock { $0.connections.count } }

    /// Listens, on its earlier port if it had one.
    func start() throws {
        let descriptor = socket(AF_INET, Socket.stream, 0)
        guard descriptor >= 0 else { throw SocketFailure.broken("no socket: \(Socket.reason)") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Below the ports that connections get, one of which could take it while the origin is
        // unreachable.
        let ports = port == 0 ? (0..<200).map { 20_000 + (Int(getpid()) * 97 + $0 * 61) % 12_000 } : [port]
        let free = ports.first { port in Socket.withAddress(port: port) { bind(descriptor, $0, $1) } == 0 }
        guard let bound = free, listen(descriptor, 512) == 0 else {
            let reason = Socket.reason
            close(descriptor)
            throw SocketFailure.broken("the origin cannot listen: \(reason)")
        }
        state.withLock { state in
            state.listener = descriptor
            state.port = bound
        }
        Thread.start { self.accept(descriptor) }
    }

    /// Refuses connections, and closes the existing ones.
    func stop() {
        state.withLock { state in
            if let listener = state.listener.take() { shutdown(listener, Int32(SHUT_RDWR)) }
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    private func accept(_ listener: Int32) {
        defer { close(listener) }
        while true {
            let descriptor = Foundation.accept(listener, nil, nil)
            if descriptor < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            let place: Int? = state.withLock { state in
                guard state.listener == listener, state.connections.count < 1_000 else { return nil }
                state.connections.insert(descriptor)
                state.accepted += 1
                return state.accepted
            }
            guard let number = place else {
                close(descriptor)
                continue
            }
            Thread.start {
                // The descriptor is closed after it left the set: `stop()` shuts down no other
                // file.
                let socket = Socket(descriptor: descriptor, patience: 120)
                var connection = OriginConnection(socket, number: number, world: self.world)
                connection.serve()
                _ = self.state.withLock { $0.connections.remove(descriptor) }
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
    }
}

extension Thread {
    /// Runs a body on a new thread, with a stack small enough for a thousand of them.
    static func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 1 << 20
        thread.start()
    }
}
