import NIOCore

/// The time that a client has to take the next bytes of what is written to it; who takes none of
/// them in it is disconnected. Used on the connection's event loop alone.
///
/// NIO tells when all is taken, or nearly all. So where the time is over it is looked whether fewer
/// bytes wait than before, and if so it begins anew: a slow client takes what was written in one
/// piece in many.
final class WriteDeadline {
    private let deadline = Deadline()
    private var owed: (channel: any Channel, time: TimeAmount, untaken: Int)?

    init() {
        deadline.whenPassed { [unowned self] in passed() }
    }

    /// Begins, or begins anew.
    func begin(_ time: TimeAmount, on channel: any Channel) {
        owed = (channel, time, channel.untaken)
        deadline.set(.now() + time, on: channel.eventLoop)
    }

    /// What is written was taken.
    func stop() {
        owed = nil
        deadline.stop()
    }

    /// Lets go of everything.
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

extension Channel {
    /// Bytes that were written and that the system has not taken.
    fileprivate var untaken: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
}
