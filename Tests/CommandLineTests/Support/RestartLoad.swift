import Foundation
import Synchronization

/// Clients that send requests, one after another, until they are told to stop.
final class RestartLoad: Sendable {
    /// Sends one request.
    ///
    /// - Returns: why it failed; `nil` if it was served.
    typealias Client = @Sendable () async -> String?

    struct Result {
        var served = 0
        var failures: [String] = []
    }

    private struct State {
        var result = Result()
        var isStopping = false
        var running: Int
    }

    private let state: Mutex<State>

    var result: Result { state.withLock { $0.result } }

    init(_ clients: [Client]) {
        state = Mutex(State(running: clients.count))
        for client in clients {
            Task { [self] in
                while !state.withLock({ $0.isStopping }) {
                    let failure = await client()
                    state.withLock { state in
                        if let failure { state.result.failures.append(failure) } else { state.result.served += 1 }
                    }
                }
                state.withLock { $0.running -= 1 }
            }
        }
    }

    /// Clients that open a connection for each request.
    convenience init(port: Int, clients: Int) {
        self.init(Array(repeating: Self.newConnections(to: port), count: clients))
    }

    /// Waits until so many requests have ended, well or not.
    func served(reaches count: Int) async {
        await poll { $0.result.served + $0.result.failures.count >= count }
    }

    /// Waits until so many more requests have ended.
    func serve(_ count: Int) async {
        let result = result
        await served(reaches: result.served + result.failures.count + count)
    }

    /// Lets each client finish its request.
    func stop() async {
        state.withLock { $0.isStopping = true }
        await poll { $0.running == 0 }
    }

    private func poll(_ isReached: (State) -> Bool) async {
        while !state.withLock({ isReached($0) }) {
            try? await Task.sleep(for: .milliseconds(1))  // lets time pass
        }
    }
}

extension RestartLoad {
    /// A client that opens a connection for each request.
    static func newConnections(to port: Int) -> Client {
        return {
            await onAThread {
                do {
                    let connection = try RestartConnection(port: port)
                    return try connection.get(isLast: true) == nil ? "closed without a response" : nil
                } catch {
                    return "\(error)"
                }
            }
        }
    }

    /// A client that keeps its connection. If that was closed before any byte of a response, it
    /// repeats the request on a new one, as RFC 9110 §9.2.2 allows for GET.
    static func keptConnection(to port: Int) -> Client {
        let kept = Kept()
        return { await onAThread { kept.get(port) } }
    }

    private final class Kept: Sendable {
        private let connection = Mutex<RestartConnection?>(nil)

        func get(_ port: Int) -> String? {
            connection.withLock { connection in
                do {
                    for isRetry in [false, true] {
                        let isNew = connection == nil
                        let used = try connection ?? RestartConnection(port: port)
                        let response = try used.get(isLast: false)
                        connection = response?.contains("Connection: close") == false ? used : nil
                        if response != nil { return nil }
                        if isNew || isRetry { return "a new connection was closed without a response" }
                    }
                    return "closed twice"
                } catch {
                    connection = nil
                    return "\(error)"
                }
            }
        }
    }

    private static func onAThread(_ body: @escaping @Sendable () -> String?) async -> String? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
