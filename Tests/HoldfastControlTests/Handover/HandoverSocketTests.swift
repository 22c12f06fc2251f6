import Foundation
import LocalSockets
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import HoldfastControl

/// A handover between two sides on a real socket.
@Suite(.timeLimit(.minutes(20))) struct HandoverSocketTests {
    /// A gateway with one Unix socket, which records what it is told.
    private final class Gateway: HandingOver {
        enum Call: Hashable {
            case drain, resume, end
        }

        struct State {
            var calls: [Call] = []
            var waiting: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
            var nextWaiter = 0
        }

        let drainTime = Duration.seconds(10)
        let freedAddresses = ["127.0.0.1:9"]
        let listener: OpenDescriptor
        /// Whether draining lasts until it is canceled.
        let isBusy: Bool
        private let path: String
        private let state = Mutex(State())

        init(_ path: String, isBusy: Bool = false) throws {
            let number = UnixAddress.listen(at: path)
            try #require(number >= 0)
            listener = OpenDescriptor(owning: number)
            self.path = path
            self.isBusy = isBusy
        }

        var calls: [Call] { state.withLock { $0.calls } }

        func listeners() async throws -> [PassedListener] {
            let copies = try (1...130).map { _ in try #require(OpenDescriptor(copyOf: listener.number)) }
            return [
                PassedListener(configured: "unix:\(path)", address: "unix:\(path)", sockets: copies, lock: copies[0])
            ]
        }

        func drain() async {
            record(.drain)
            guard isBusy else { return }
            try? await Task.sleep(for: .seconds(3600))  // lets time pass
        }

        func resume() async { record(.resume) }
        func end() { record(.end) }

        private func record(_ call: Call) {
            let ready = state.withLock { state in
                state.calls.append(call)
                let ready = state.waiting.filter { $0.value.count <= state.calls.count }
                for id in ready.keys { state.waiting[id] = nil }
                return ready
            }
            for waiter in ready.values { waiter.continuation.resume() }
        }

        /// Waits until there were so many calls, or the test's time is up: a handover that fails
        /// makes none.
        func calls(reach count: Int) async {
            let id = state.withLock { state in
                defer { state.nextWaiter += 1 }
                return state.nextWaiter
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isDone = state.withLock { state in
                        guard !Task.isCancelled, state.calls.count < count else { return true }
                        state.waiting[id] = (count, continuation)
                        return false
                    }
                    if isDone { continuation.resume() }
                }
            } onCancel: {
                state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
            }
        }
    }

    /// A busy machine may need longer than the limits of the product.
    private static let patience = Duration.seconds(300)

    /// Runs a gateway's side.
    private func with(
        isBusy: Bool = false,
        user: UInt32 = geteuid(),
        greeting: Duration = Self.patience,
        _ body: (SocketLocation, Gateway, ServiceGroup) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let location = HandoverSocket.location(inStore: folder.path)
        let gateway = try Gateway(folder.path + "/clients.sock", isBusy: isBusy)
        let logger = Logger(label: "handover") { _ in SwiftLogNoOpLogHandler() }
        let server = try HandoverServer(
            at: location,
            user: user,
            gateway: gateway,
            greeting: greeting,
            logger: logger
        )
        let group = ServiceGroup(services: [server], logger: logger)
        let running = Task { try await group.run() }
        while location.reach != .live, !Task.isCancelled { await Task.yield() }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(location, gateway, group))
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(location.reach == .nobody)
        try outcome.get()
    }

    /// Calls that wait for the other side do so on a thread of their own. On a machine with two
    /// processors, two of them could otherwise occupy all threads that the other sides need.
    private func onAThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    private struct Broken: Error, CustomStringConvertible {
        let description = "The port is in use."
    }

    /// Takes over, and returns the number of sockets.
    private func take(_ location: SocketLocation, isBroken: Bool = false) async throws -> Int? {
        try await onAThread {
            guard var client = try HandoverClient(to: location, user: geteuid(), greeting: Self.patience) else {
                return nil
            }
            return try client.take { listeners, freed in
                guard !isBroken, freed == ["127.0.0.1:9"] else { throw Broken() }
                return listeners.reduce(0) { $0 + $1.sockets.count + ($1.lock == nil ? 0 : 1) }
            }
        }
    }

    /// Connects to the socket of the handover, as a process that may send anything.
    private func connection(to location: SocketLocation) throws -> OpenDescriptor {
        let descriptor = OpenDescriptor(owning: UnixAddress.open())
        let address = try #require(UnixAddress(location.path))
        try #require(address.withPointer { connect(descriptor.number, $0, $1) } == 0)
        return descriptor
    }

    /// The messages that a connection gets until it is closed.
    private func messages(_ connection: OpenDescriptor) async throws -> [HandoverMessage] {
        try await onAThread {
            var bytes: ArraySlice<UInt8> = []
            loop: while true {
                switch DescriptorMessage.receive(from: connection.number) {
                case .content(let more, _): bytes += more
                case .ended, .failed: break loop
                }
            }
            var messages: [HandoverMessage] = []
            while let message = try HandoverMessage.take(from: &bytes) { messages.append(message) }
            return messages
        }
    }

    /// The next piece of what a connection gets; empty if it ended.
    private func received(_ connection: OpenDescriptor) async throws -> [UInt8] {
        try await onAThread {
            guard case .content(let bytes, _) = DescriptorMessage.receive(from: connection.number) else { return [] }
            return Array(bytes)
        }
    }

    private func send(_ message: HandoverMessage, to connection: OpenDescriptor) throws {
        #expect(DescriptorMessage.send(try #require(message.bytes), to: connection.number))
    }

    @Test func newProcessGetsTheSocketsWhenTheOldOneHasEnded() async throws {
        try await with { location, gateway, group in
            let mode = try FileManager.default.attributesOfItem(atPath: location.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            async let taken = take(location)
            await gateway.calls(reach: 2)
            #expect(gateway.calls == [.drain, .end])
            await group.triggerGracefulShutdown()
            let count = try await taken
            #expect(count == 131)
        }
    }

    @Test func takenSocketAcceptsAClientThatWaitedInItsQueue() async throws {
        try await with { location, gateway, group in
            let place = (location.path as NSString).deletingLastPathComponent + "/clients.sock"
            let address = try #require(UnixAddress(place))
            let client = OpenDescriptor(owning: UnixAddress.open())
            #expect(address.withPointer { connect(client.number, $0, $1) } == 0)
            async let isAccepted = onAThread { () -> Bool in
                guard var client = try HandoverClient(to: location, user: geteuid(), greeting: Self.patience) else {
                    return false
                }
                let sockets = try client.take { listeners, _ in listeners.flatMap(\.sockets) }
                guard let socket = sockets?.first else { return false }
                let accepted = OpenDescriptor(owning: accept(socket.number, nil, nil))
                return accepted.number >= 0 && DescriptorMessage.send([1], to: accepted.number)
            }
            await gateway.calls(reach: 2)
            await group.triggerGracefulShutdown()
            let wasAccepted = try await isAccepted
            #expect(wasAccepted)
            let content = try await received(client)
            #expect(content == [1])
        }
    }

    @Test func processThatCannotStartLeavesTheGatewayServing() async throws {
        try await with { location, gateway, group in
            for attempt in 1...3 {
                await #expect(throws: Broken.self) { _ = try await take(location, isBroken: true) }
                await gateway.calls(reach: attempt)
            }
            #expect(gateway.calls == [.resume, .resume, .resume])
            async let taken = take(location)
            await gateway.calls(reach: 5)
            await group.triggerGracefulShutdown()
            let count = try await taken
            #expect(count == 131)
        }
    }

    @Test func processThatDiesWhileTheOldOneDrainsLeavesItServing() async throws {
        try await with(isBusy: true) { location, gateway, _ in
            for attempt in 1...3 {
                var connection: OpenDescriptor? = try connection(to: location)
                try send(.hello, to: try #require(connection))
                // An early "ready" is only valid after the offer.
                _ = try await received(try #require(connection))
                try send(.ready, to: try #require(connection))
                await gateway.calls(reach: attempt * 2 - 1)
                connection = nil
                await gateway.calls(reach: attempt * 2)
            }
            #expect(gateway.calls == [.drain, .resume, .drain, .resume, .drain, .resume])
        }
    }

    @Test func secondProcessIsRefusedWithTheReason() async throws {
        try await with(isBusy: true) { location, gateway, _ in
            let first = try connection(to: location)
            try send(.hello, to: first)
            _ = try await received(first)
            for _ in 1...30 {
                let failure = await #expect(throws: HandoverFailure.self) { _ = try await take(location) }
                #expect(failure?.description.contains("Another process is already taking over") == true)
            }
            try send(.ready, to: first)
            await gateway.calls(reach: 1)
            #expect(gateway.calls == [.drain])
        }
    }

    @Test func otherUsersAreRefused() async throws {
        try await with(user: geteuid() + 1) { location, gateway, _ in
            let failure = await #expect(throws: HandoverFailure.self) { _ = try await take(location) }
            #expect(failure?.description.contains("may not replace this gateway") == true)
            #expect(gateway.calls.isEmpty)
            // And the new process does not trust a gateway of another user.
            await #expect(throws: HandoverFailure.self) {
                _ = try await onAThread { try HandoverClient(to: location, user: geteuid() + 1) != nil }
            }
        }
    }

    @Test func garbageAndOtherVersionsAreRefused() async throws {
        // Zeros could become a message, so their connection ends with the time for the first one.
        try await with(greeting: HandoverLimits.greeting) { location, gateway, _ in
            var newer = try #require(HandoverMessage.hello.bytes)
            newer[4] = 9
            for bytes in [Array("GET / HTTP/1.1\r\n\r\n".utf8), newer, Array(repeating: 0, count: 60_000)] {
                let connection = try connection(to: location)
                _ = DescriptorMessage.send(bytes, to: connection.number)
                let messages = try await messages(connection)
                guard case .refused? = messages.first, messages.count == 1 else {
                    Issue.record("answered with \(messages)")
                    continue
                }
            }
            #expect(gateway.calls.isEmpty)
        }
    }

    @Test func hundredSilentConnectionsAreLimited() async throws {
        try await with { location, gateway, _ in
            let connections = try (1...100).map { _ in try connection(to: location) }
            // All but eight are told that there are too many.
            var refused = 0
            for connection in connections.dropFirst(8) {
                let messages = try await messages(connection)
                if case .refused? = messages.first { refused += 1 }
            }
            #expect(refused == 92 && gateway.calls.isEmpty)
            withExtendedLifetime(connections) {}
        }
    }

    @Test func deadSocketMeansThatNoGatewayRuns() async throws {
        try await with { location, _, group in
            await group.triggerGracefulShutdown()
            while location.reach == .live, !Task.isCancelled { await Task.yield() }
            let count = try await take(location)
            #expect(count == nil)
        }
    }
}
