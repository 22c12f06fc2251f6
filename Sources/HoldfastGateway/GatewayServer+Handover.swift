import EventLoops
import LibC
package import LocalSockets
import NIOCore

/// A handover of the listeners to another process.
extension GatewayServer {
    /// The time that running requests get to finish.
    package var drainTime: Duration { service.configuration.timeouts.draining }

    /// Returns the open listeners with copies of their sockets, for the other process. This server
    /// continues to accept connections.
    ///
    /// - Throws: `IOError` if the process has too many open files; `CancellationError` if the
    ///   server is not running.
    package func passedListeners() async throws -> [PassedListener] {
        guard let open = runningListeners else { throw CancellationError() }
        var result: [PassedListener] = []
        for (listener, address) in zip(open.listeners, open.addresses) {
            var sockets: [OpenDescriptor] = []
            for channel in listener.channels { sockets.append(try await Self.copyOfSocket(channel)) }
            result.append(
                PassedListener(
                    configured: "\(listener.configured)",
                    address: "\(address)",
                    sockets: sockets,
                    lock: listener.claim?.copyOfLock()
                )
            )
        }
        return result
    }

    private static func copyOfSocket(_ channel: any Channel) async throws -> OpenDescriptor {
        let found = try await channel.eventLoop.submit {
            try channel.socket?.withUnsafeTransport { OpenDescriptor(copyOf: $0) }
        }.get()
        guard let copy = found ?? nil else { throw IOError(errnoCode: EMFILE, reason: "fcntl") }
        return copy
    }

    /// Stops accepting connections, and ends the open ones like ``stop()``. Clients that connect
    /// meanwhile wait in the kernel's queues. If the task is canceled, this returns early.
    package func drainForHandover() async {
        await runningListeners?.setAccepting(false)
        await connections.drainOpen(within: drainTime, on: group.any())
    }

    /// Accepts connections again after ``drainForHandover()``.
    package func acceptAgain() async { await runningListeners?.setAccepting(true) }

    /// Leaves the paths of the Unix sockets to the process that has taken over. Call ``stop()``
    /// afterward.
    package func leaveListeners() {
        for claim in runningListeners?.claims ?? [] { claim.handOver() }
    }
}
