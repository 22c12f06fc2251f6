import EventLoops
import NIOCore

/// One side of a tunnel: a connection, or a stream of a connection. Used on the tunnel's event
/// loop.
protocol TunnelEnd: AnyObject {
    /// Whether the side accepts more bytes without buffering many.
    var hasRoom: Bool { get }
    /// The number of written bytes that the peer has not accepted.
    var untaken: Int { get }
    /// Writes bytes to the peer, and later tells the tunnel when there is room again.
    func pass(_ bytes: ByteBuffer)
    /// Asks the peer for bytes.
    func read()
    /// Tells the peer, after all written bytes, that no more bytes follow.
    func closeSending()
    /// Closes the side after all written bytes.
    ///
    /// - Parameter isInOrder: whether the data is complete.
    func close(isInOrder: Bool)
}

/// A tunnel between a client and an origin, once the origin has switched to another protocol. Bytes
/// pass in both directions unchanged. It performs the decisions of ``TunnelMachine`` on one event
/// loop.
final class Tunnel {
    /// The end of a tunnel.
    struct Summary {
        var ending: TunnelEnding
        /// The number of bytes received from the client, and from the origin.
        var clientBytes: Int64
        var originBytes: Int64
    }

    private let eventLoop: any EventLoop
    private let idleTime: TimeAmount
    private let deadline = Deadline()
    private var machine = TunnelMachine()
    private var client: (any TunnelEnd)?
    private var origin: (any TunnelEnd)?
    private var completion: ((Summary) -> Void)?

    /// - Parameters:
    ///   - idleTime: the maximum time without any bytes.
    ///   - completion: called once, when the tunnel is over.
    init(on eventLoop: any EventLoop, idleTime: TimeAmount, _ completion: @escaping (Summary) -> Void) {
        self.eventLoop = eventLoop
        self.idleTime = idleTime
        self.completion = completion
    }

    /// Connects the sides, and forwards the bytes that they sent before.
    func join(_ client: Beginning, _ origin: Beginning) {
        guard !machine.isOver else {
            client.end.close(isInOrder: false)
            return origin.end.close(isInOrder: false)
        }
        self.client = client.end
        self.origin = origin.end
        deadline.whenPassed { [unowned self] in passTime() }
        beginTime()
        begin(.client, client)
        begin(.origin, origin)
    }

    /// A side of a starting tunnel.
    struct Beginning {
        let end: any TunnelEnd
        /// The bytes that the side has already sent.
        let bytes: ByteBuffer
        /// Whether the side has finished sending.
        let isLast: Bool
    }

    private func begin(_ side: TunnelMachine.Side, _ beginning: Beginning) {
        if beginning.bytes.readableBytes > 0 {
            receive(beginning.bytes, from: side)
        } else {
            end(side)?.read()
        }
        if beginning.isLast { closeInput(of: side) }
    }

    private func end(_ side: TunnelMachine.Side) -> (any TunnelEnd)? { side == .client ? client : origin }

    // MARK: Events of the sides

    func receive(_ bytes: ByteBuffer, from side: TunnelMachine.Side) {
        switch machine.receive(bytes.readableBytes, from: side) {
        case .drop: break
        case .pass:
            beginTime()
            guard let other = end(side.other) else { return }
            other.pass(bytes)
            perform(machine.pass(from: side, hasRoom: other.hasRoom))
        }
    }

    func makeRoom(at side: TunnelMachine.Side) { perform(machine.makeRoom(at: side)) }

    /// Handles a peer that has finished sending.
    func closeInput(of side: TunnelMachine.Side) { perform(machine.closeInput(of: side)) }

    /// Handles a peer that has disconnected.
    func lose(_ side: TunnelMachine.Side, hasFailed: Bool) {
        perform(machine.lose(side, hasFailed: hasFailed))
    }

    func drain() { machine.drain() }

    func endFromOutside() { perform(machine.endFromOutside()) }

    // MARK: Actions

    private func perform(_ action: TunnelMachine.ReadAction) {
        if case .read(let side) = action { end(side)?.read() }
    }

    private func perform(_ action: TunnelMachine.EndAction) {
        switch action {
        case .none: break
        case .closeSending(let side): end(side)?.closeSending()
        case .close(let ending): close(ending)
        }
    }

    private func close(_ ending: TunnelEnding) {
        deadline.release()
        let (client, origin) = (client.take(), origin.take())
        client?.close(isInOrder: ending == .closed)
        origin?.close(isInOrder: ending == .closed)
        completion.take()?(
            Summary(ending: ending, clientBytes: machine.clientBytes, originBytes: machine.originBytes)
        )
    }

    // MARK: Time

    private func beginTime() { deadline.set(.now() + idleTime, on: eventLoop) }

    private func passTime() {
        switch machine.passTime(untaken: (client?.untaken ?? 0) + (origin?.untaken ?? 0)) {
        case .none: break
        case .wait: beginTime()
        case .close(let ending): close(ending)
        }
    }
}
