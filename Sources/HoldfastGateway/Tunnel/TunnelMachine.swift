/// The two directions of a tunnel as a value: events in, one action out. ``Tunnel`` performs the
/// actions.
///
/// A side is read only while the other side has room for earlier bytes. So a tunnel buffers at most
/// one read and one side's buffer, however fast the other side sends.
struct TunnelMachine {
    /// The sides of a tunnel.
    enum Side: CaseIterable {
        case client, origin

        var other: Side { self == .client ? .origin : .client }
    }

    /// The actions after a side sent bytes.
    enum ReceiveAction {
        /// Write the bytes to the other side, then call ``pass(from:hasRoom:)``.
        case pass
        case drop
    }

    /// The actions when a side may need to be read.
    enum ReadAction {
        case none
        /// Ask this side for bytes.
        case read(Side)
    }

    /// The actions after a side has finished sending.
    enum EndAction {
        case none
        /// Close the sending direction toward this side, after all written bytes.
        case closeSending(Side)
        /// Close both sides.
        case close(TunnelEnding)
    }

    /// The actions after a time without bytes.
    enum IdleAction {
        case none
        /// Wait for the same time again.
        case wait
        case close(TunnelEnding)
    }

    /// One direction: the bytes that one side sends.
    private struct Way {
        /// Whether more bytes may arrive.
        var isOpen = true
        /// Whether the side is not read because the other side has no room.
        var isHeld = false
    }

    private enum State {
        case open(client: Way, origin: Way)
        case over
    }

    private var state = State.open(client: Way(), origin: Way())
    private(set) var isDraining = false
    /// The number of bytes not yet accepted when the time for the next byte was up; `nil` if bytes
    /// have arrived since.
    private var untaken: Int?
    /// The number of bytes received from the client, and from the origin.
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

    /// Handles bytes from a side.
    mutating func receive(_ count: Int, from side: Side) -> ReceiveAction {
        guard let way = way(from: side), way.isOpen else { return .drop }
        untaken = nil
        switch side {
        case .client: clientBytes += Int64(count)
        case .origin: originBytes += Int64(count)
        }
        return .pass
    }

    /// Records that a side's bytes were written to the other side.
    ///
    /// - Parameter hasRoom: whether the other side accepts more bytes.
    mutating func pass(from side: Side, hasRoom: Bool) -> ReadAction {
        guard var way = way(from: side), way.isOpen else { return .none }
        way.isHeld = !hasRoom
        set(way, from: side)
        return hasRoom ? .read(side) : .none
    }

    /// Resumes reading for a side that has room for more bytes again.
    mutating func makeRoom(at side: Side) -> ReadAction {
        guard var way = way(from: side.other), way.isOpen, way.isHeld else { return .none }
        way.isHeld = false
        set(way, from: side.other)
        return .read(side.other)
    }

    /// Handles a side that has finished sending. It may still read.
    mutating func closeInput(of side: Side) -> EndAction {
        guard var way = way(from: side), way.isOpen else { return .none }
        way.isOpen = false
        set(way, from: side)
        guard self.way(from: side.other)?.isOpen == true else { return close(.closed) }
        return .closeSending(side.other)
    }

    /// Handles a side that is closed and accepts no more bytes.
    ///
    /// A side that closes cleanly first reports that it has finished sending. If the other side has
    /// already finished sending, the close itself is a clean end.
    ///
    /// - Parameter hasFailed: whether the side's connection was reset or failed in another way.
    mutating func lose(_ side: Side, hasFailed: Bool) -> EndAction {
        guard let way = way(from: side), let other = self.way(from: side.other) else { return .none }
        guard way.isOpen, other.isOpen || hasFailed else { return close(.closed) }
        return close(side == .client ? .clientAborted : .originAborted)
    }

    /// Begins the shutdown. The tunnel continues until it is ended from outside.
    mutating func drain() { isDraining = true }

    /// Ends the tunnel, because another part of the gateway closes the client's connection.
    mutating func endFromOutside() -> EndAction {
        isOver ? .none : close(isDraining ? .drained : .clientAborted)
    }

    /// Handles the end of the time for the next byte.
    ///
    /// A side that reads slowly accepts one long piece in many parts, so its tunnel is not idle.
    ///
    /// - Parameter untaken: the number of written bytes that the sides have not accepted.
    mutating func passTime(untaken: Int) -> IdleAction {
        guard !isOver else { return .none }
        let isTaking = untaken > 0 && untaken < self.untaken ?? .max
        self.untaken = untaken
        if isTaking { return .wait }
        state = .over
        return .close(.idle)
    }

    private mutating func close(_ ending: TunnelEnding) -> EndAction {
        state = .over
        return .close(ending)
    }
}
