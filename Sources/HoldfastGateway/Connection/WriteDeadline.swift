import NIOCore

/// The time that a client has to read some of the bytes that are written to it. A client that reads
/// none of them in that time is disconnected. It is used on the connection's event loop.
///
/// NIO reports when all bytes are taken, or nearly all. So when the time is over, the deadline
/// begins again if fewer bytes wait than before: a slow client reads one long piece in many parts.
final class WriteDeadline {
    private let deadline = Deadline()
    private var owed: (channel: any Channel, time: TimeAmount, untaken: Int)?

    init() {
        deadline.whenPassed { [unowned self] in passed() }
    }

    /// Begins, or begins again.
    func begin(_ time: TimeAmount, on channel: any Channel) {
        owed = (channel, time, channel.untaken)
        deadline.set(.now() + time, on: channel.eventLoop)
    }

    /// Ends: all bytes were taken.
    func stop() {
        owed = nil
        deadline.stop()
    }

    /// Releases everything.
    func release() {
        owed = nil
        deadline.release()
    }

    private func passed() {
        guard let owed else { return }
        if owed.channel.untaken < owed.untaken {
            begin(owed.time, on: owed.channel)
        } else {
            owed.channel.close(promise: nil)
        }
    }
}
