/// The two ways of a tunnel as a value: events in, one action out. ``Tunnel`` performs the actions.
///
/// A side is read only while the other side has room for what was read before. So a tunnel holds as
/// much as one read brings and one side's buffer takes, however fast the other side sends.
struct TunnelMachine {
    /// The sides of a tunnel.
    enum Side: CaseIterable {
        case client, origin

        var other: Side { self == .client ? .origin : .client }
    }

    /// How a tunnel ended: the label `result` of `holdfast_tunnels_total`.
    enum Ending: String, CaseIterable {
        /// A side closed it in order.
        case closed
        /// The client reset its connection, or went away in the middle.
        case clientAborted = "client-aborted"
        /// The same of the origin.
        case originAborted = "origin-aborted"
        /// No byte passed for too long.
        case idle
        /// The gateway stopped, and its time to drain was over.
        case drained
    }

    /// The actions after bytes came from a side.
    enum ReceiveAction {
        /// Write them to the other side, then call ``pass(from:hasRoom:)``.
        case pass
        case drop
    }

    /// The actions when a side may have to be read.
    enum ReadAction {
        case none
        /// Ask this side for bytes.
        case read(Side)
    }

    /// The actions after a side sends no more.
    enum EndAction {
        case none
        /// Close the sending direction towards this side, behind the bytes that were written.
        case closeSending(Side)
        /// Close both sides.
        case close(Ending)
    }

    /// The actions after no byte has come for a while.
    enum IdleAction {
        case none
        /// Wait as long once more.
        case wait
        case close(Ending)
    }

    /// The way of the bytes that one side sends.
    private struct Way {
        /// Whether more may come.
        var isOpen = true
        /// Whether the side is not read, because the other one has no room.
        var isHeld = false
    }

    private enum State {
        case open(client: Way, origin: Way)
        case over
    }

    private var state = State.open(client: Way(), origin: Way())
    private(set) var isDraining = false
    /// The bytes that were untaken when the time for the next byte was over; `nil` if one has come
    /// since.
    private var untaken: Int?
    /// The bytes that came from the client, and from the origin.
    private(set) var clientBytes: Int64 = 0
    private(set) var originBytes: Int64 = 0

    /// Whether both sides are closed, or being closed.
    var isOver: Bool { if case .over = state { true } else { false } }

    private func way(from side: Side) -> Way? {
        switch (state, side) {
        case (.open(let way, _), .client), (.open(_, let way), .origin): way
        case (.over, _): nil
        }
    }

    private mutating func set(_ way: Way, from side: Side) {
        guard case .open(let client, let origin) = state else { return }
        state = side == .client ? .open(client: way, origin: origin) : .open(client: client, origin: way)
    }

    /// Takes bytes that a side sent.
    mutating func receive(_ count: Int, from side: Side) -> ReceiveAction {
        guard let way = way(from: side), way.isOpen else { return .drop }
        untaken = nil
        switch side {
        case .client: clientBytes += Int64(count)
        case .origin: originBytes += Int64(count)
        }
        return .pass
    }

    /// The bytes of a side are written to the other one.
    ///
    /// - Parameter hasRoom: whether the other side takes more.
    mutating func pass(from side: Side, hasRoom: Bool) -> ReadAction {
        guard var way = way(from: side), way.isOpen else { return .none }
        way.isHeld = !hasRoom
        set(way, from: side)
        return hasRoom ? .read(side) : .none
    }

    /// A side takes more bytes than before.
    mutating func makeRoom(at side: Side) -> ReadAction {
        guard var way = way(from: side.other), way.isOpen, way.isHeld else { return .none }
        way.isHeld = false
        set(way, from: side.other)
        return .read(side.other)
    }

    /// A side sends no more; it may still read.
    mutating func closeInput(of side: Side) -> EndAction {
        guard var way = way(from: side), way.isOpen else { return .none }
        way.isOpen = false
        set(way, from: side)
        guard self.way(from: side.other)?.isOpen == true else { return close(.closed) }
        return .closeSending(side.other)
    }

    /// A side is closed, and takes no more bytes.
    ///
    /// One that leaves in order says before that it sends no more. But if nothing was left to be
    /// sent to it, that is its end, and the connection is closed at once.
    ///
    /// - Parameter hasFailed: whether its connection was reset or broke otherwise.
    mutating func lose(_ side: Side, hasFailed: Bool) -> EndAction {
        guard let way = way(from: side), let other = self.way(from: side.other) else { return .none }
        guard way.isOpen, other.isOpen || hasFailed else { return close(.closed) }
        return close(side == .client ? .clientAborted : .originAborted)
    }

    /// The gateway stops. The tunnel continues until it is ended from outside.
    mutating func drain() { isDraining = true }

    /// The connection of the client is closed for others.
    mutating func endFromOutside() -> EndAction {
        isOver ? .none : close(isDraining ? .drained : .clientAborted)
    }

    /// The time for the next byte is over.
    ///
    /// A side that reads slowly takes one long piece in many parts, so its tunnel is not idle.
    ///
    /// - Parameter untaken: the bytes that were written and that the sides have not taken.
    mutating func passTime(untaken: Int) -> IdleAction {
        guard !isOver else { return .none }
        let isTaking = untaken > 0 && untaken < self.untaken ?? .max
        self.untaken = untaken
        if isTaking { return .wait }
        state = .over
        return .close(.idle)
    }

    private mutating func close(_ ending: Ending) -> EndAction {
        state = .over
        return .close(ending)
    }
}
