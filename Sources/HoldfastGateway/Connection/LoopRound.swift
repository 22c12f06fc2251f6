import NIOCore
import NIOPosix

/// The connections that wrote something in a loop's current round. They are flushed when the loop
/// has handled everything that came in the round.
///
/// Bytes that are sent one right after the other wake a sleeping receiver once. Each wake takes
/// longer than the rest of a write.
final class LoopRound {
    /// Safe: each thread has its own value, and no thread sees another's.
    nonisolated(unsafe) private static let present = ThreadSpecificVariable<LoopRound>()

    private let eventLoop: any EventLoop
    private var flushing: [any Flushing] = []
    /// The array of the round before, for its memory.
    private var emptied: [any Flushing] = []

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// The round of a loop. Call it on the loop.
    static func of(_ eventLoop: any EventLoop) -> LoopRound {
        eventLoop.preconditionInEventLoop()
        if let round = present.currentValue { return round }
        let round = LoopRound(eventLoop)
        present.currentValue = round
        return round
    }

    /// Flushes a handler when the round is over. One call for each round is enough.
    func flush(_ handler: any Flushing) {
        flushing.append(handler)
        if flushing.count == 1 { eventLoop.assumeIsolated().execute { self.end() } }
    }

    private func end() {
        swap(&flushing, &emptied)
        for handler in emptied { handler.flush() }
        emptied.removeAll(keepingCapacity: emptied.count <= 256)
    }
}

/// An object that has written bytes and not flushed them.
protocol Flushing: AnyObject {
    func flush()
}
