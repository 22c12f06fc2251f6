package import NIOCore
import NIOPosix

/// Collects the connections that have written bytes in a loop's current round, and flushes them at
/// the end of the round.
///
/// Bytes sent right after one another wake a sleeping receiver only once. Each wake takes longer
/// than the rest of a write.
package final class LoopRound {
    /// Safe: each thread has its own value, which no other thread sees.
    nonisolated(unsafe) private static let present = ThreadSpecificVariable<LoopRound>()

    private let eventLoop: any EventLoop
    private var flushing: [any Flushing] = []
    /// The previous round's array, kept for its memory.
    private var emptied: [any Flushing] = []

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Returns the round of a loop. Call this on the loop.
    package static func of(_ eventLoop: any EventLoop) -> LoopRound {
        eventLoop.preconditionInEventLoop()
        if let round = present.currentValue { return round }
        let round = LoopRound(eventLoop)
        present.currentValue = round
        return round
    }

    /// Flushes a handler at the end of the round. One call per round is enough.
    package func flush(_ handler: any Flushing) {
        flushing.append(handler)
        if flushing.count == 1 { eventLoop.assumeIsolated().execute { self.end() } }
    }

    private func end() {
        swap(&flushing, &emptied)
        for handler in emptied { handler.flush() }
        emptied.removeAll(keepingCapacity: emptied.count <= 256)
    }
}

/// An object that has unflushed bytes.
package protocol Flushing: AnyObject {
    func flush()
}
