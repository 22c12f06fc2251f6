import CommandLineSupport
import Foundation
import HoldfastGateway
import LibC
import LocalSockets

/// A command in a network namespace in which nothing but its gateway can be reached. It starts once
/// the gateway listens there.
struct IsolatedCommand: Sendable {
    private let child: ChildCommand
    private let channel: OpenDescriptor
    /// Listens in the namespace, for the gateway.
    private let listener: OpenDescriptor

    /// Starts the process that will become the command, and waits until it is in the namespace.
    ///
    /// - Throws: `CommandFailure`
    init(_ words: [String], _ inherited: InheritedState) async throws {
        let (child, channel) = try Self.start(words, inherited)
        let received = DescriptorMessage.receive(from: channel.number)
        guard case .content(_, let descriptors) = received, let listener = descriptors.first else {
            child.send(SIGKILL)
            _ = await child.wait()
            let standard = "The process for the command of '--isolated' cannot be started."
            guard case .content(let text, _) = received else { throw CommandFailure(standard) }
            throw CommandFailure(String(decoding: text, as: UTF8.self))
        }
        (self.child, self.channel, self.listener) = (child, channel, listener)
    }

    /// Returns the process and this end of its socket. The other end is closed here, so that the
    /// end of the process is seen.
    private static func start(
        _ words: [String],
        _ inherited: InheritedState
    ) throws -> (ChildCommand, OpenDescriptor) {
        guard let (own, other) = UnixAddress.pair() else {
            throw CommandFailure("A socket cannot be opened: \(String(cString: strerror(errno))).")
        }
        let child = try ChildCommand(
            ["/proc/self/exe", IsolatedProcess.word] + words,
            environment: ProcessInfo.processInfo.environment,
            inherited: inherited,
            channel: other
        )
        return (child, own)
    }

    /// Returns the listener for a gateway whose only listener is a free port of 127.0.0.1.
    ///
    /// - Throws: `ListenFailure`
    func prepared(for listeners: [GatewayListener]) throws -> PreparedListeners {
        let passed = PassedListener(configured: "127.0.0.1:0", address: "127.0.0.1:0", sockets: [listener])
        return PreparedListeners(try PreparedListener.prepare(listeners, from: [passed]))
    }

    /// Starts the command.
    func begin(with environment: [String: String]) -> ChildCommand {
        // If the process has ended, waiting for it says so.
        _ = DescriptorMessage.send(IsolatedProcess.bytes(of: environment), to: channel.number)
        shutdown(channel.number, CInt(clamping: SHUT_WR))
        return child
    }

    /// Ends a command that has not started.
    func cancel() async {
        child.send(SIGKILL)
        _ = await child.wait()
    }
}
