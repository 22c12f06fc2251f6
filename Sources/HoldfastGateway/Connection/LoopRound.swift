import NIOCore
import NIOPosix

/// What has been written in a loop's present round, flushed when the loop has taken all that came
/// in it.
///
/// Bytes that go out one right after the other wake a receiver that sleeps once; each wake takes
/// longer than the rest of a write.
final class LoopRound {
    /// Safe: each thread has its own, and nobody sees another's.
    nonisolated(unsafe) private static let present = ThreadSpecificVariable<LoopRound>()

    private let eventLoop: any EventLoop
    private var flushing: [any Flushing] = []
    /// The room of the round before.
    private var emptied: [any Flushing] = []

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// The one of a loop. To be called on it.
    static func of(_ eventLoop: any EventLoop) -> LoopRound {
        eventLoop.preconditionInEventLoop()
        if let round = present.currentValue { return round }
        let round = LoopRound(eventLoop)
        present.currentValue = round
        return round
    }

    /// Has it flushed when the round is over. Once is enough.
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

/// A channel's handler that has written and not flushed.
protocol Flushing: AnyObject {
    func flush()
}
