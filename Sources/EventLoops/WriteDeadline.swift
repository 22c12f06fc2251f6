package import NIOCore

/// Disconnects a client that reads none of the bytes written to it within a given time. Used on the
/// connection's event loop.
///
/// NIO only reports when all bytes, or nearly all, are accepted. So when the time is up, the
/// deadline restarts if fewer bytes are waiting than before: a slow client reads one long piece in
/// many parts.
package final class WriteDeadline {
    private let deadline = Deadline()
    private var owed: (channel: any Channel, time: TimeAmount, untaken: Int)?

    package init() {
        deadline.whenPassed { [unowned self] in passed() }
    }

    /// Starts or restarts the deadline.
    package func begin(_ time: TimeAmount, on channel: any Channel) {
        owed = (channel, time, channel.untaken)
        deadline.set(.now() + time, on: channel.eventLoop)
    }

    /// Ends the deadline, because all bytes were accepted.
    func stop() {
        owed = nil
        deadline.stop()
    }

    /// Releases everything.
    package func release() {
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
