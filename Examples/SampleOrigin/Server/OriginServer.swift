import Hummingbird
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Starts and stops an origin's server, any number of times, always on the same port.
actor OriginServer {
    private enum Phase {
        case stopped
        case starting(Task<Void, any Error>)
        case running(listener: any Channel, run: Task<Void, Never>)
        case stopping(Task<Void, Never>)
    }

    private let state: OriginState
    private var phase = Phase.stopped
    private let address = Mutex(Address())

    private struct Address: ~Copyable {
        var port: Int?
        var reservation: PortReservation?
    }

    init(state: OriginState) {
        self.state = state
    }

    /// The port of the first start; before that, the configured port.
    nonisolated var port: Int { address.withLock { $0.port } ?? state.configuration.port }

    func start() async throws {
        while true {
            switch phase {
            case .running:
                return
            case .starting(let task):
                return try await task.value
            case .stopping(let task):
                // The task itself sets the next phase before it ends.
                await task.value
            case .stopped:
                let task = Task { try await listen() }
                phase = .starting(task)
                return try await task.value
            }
        }
    }

    func stop() async {
        while true {
            switch phase {
            case .stopped:
                return
            case .starting(let task):
                _ = await task.result
            case .stopping(let task):
                return await task.value
            case .running(let listener, let run):
                let task = Task { await close(listener: listener, run: run) }
                phase = .stopping(task)
                return await task.value
            }
        }
    }

    private func listen() async throws {
        let host = state.configuration.host
        let wanted = reservedPort(host: host)
        state.connections.accept()
        let (ready, continuation) = AsyncThrowingStream<any Channel, any Error>.makeStream()
        let application = makeApplication(state: state, port: wanted) { listener in
            continuation.yield(listener)
            continuation.finish()
        }
        let run = Task {
            do {
                try await application.run()
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        do {
            for try await listener in ready {
                address.withLock { $0.port = listener.localAddress?.port ?? wanted }
                phase = .running(listener: listener, run: run)
                return
            }
            throw OriginError(
                code: .ended,
                message: "The sample origin ended before it listened on '\(host):\(wanted)'."
            )
        } catch {
            run.cancel()
            phase = .stopped
            throw Self.originError(error, host: host, port: wanted)
        }
    }

    private func reservedPort(host: String) -> Int {
        let configured = state.configuration.port
        return address.withLock { address in
            if let port = address.port { return port }
            // Reserves only a free port that was selected here. If the caller named a port, the
            // caller is responsible for it.
            guard configured == 0 else { return configured }
            address.reservation = PortReservation(host: host)
            return address.reservation?.port ?? configured
        }
    }

    private func close(listener: any Channel, run: Task<Void, Never>) async {
        // Stops accepting, closes the connections, then ends the handlers that wait for something
        // other than their connection.
        await finishAccepting(listener)
        try? await listener.close()
        state.connections.closeAll()
        run.cancel()
        await run.value
        phase = .stopped
    }

    /// Waits until the connections that are being accepted have their handlers, because NIO ends
    /// the process if it drops a connection before that.
    private func finishAccepting(_ listener: any Channel) async {
        try? await listener.setOption(.autoRead, value: false).get()
        // Each connection is set up on its own loop, and then handed over on the listener's loop.
        for _ in 0..<2 {
            for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try? await loop.submit {}.get() }
            try? await listener.eventLoop.submit {}.get()
        }
    }

    private static func originError(_ error: any Error, host: String, port: Int) -> OriginError {
        if let error = error as? OriginError { return error }
        let isUnknown = error is SocketAddressError.UnknownHost
        let fault = (error as? IOError).map { bindFailureReason(errno: $0.errnoCode) }
        let reason = fault ?? (isUnknown ? "the name does not resolve" : "\(error)")
        return OriginError(
            code: .bind,
            message: "Cannot listen on '\(host):\(port)': \(reason). Choose another address, or port 0 for a free one.",
            cause: error
        )
    }
}
