import Foundation

/// Seconds since the machine started, by a clock that nothing sets back.
typealias Moment = Double

enum Clock {
    static func now() -> Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Lets time pass: what a client thinks, what an origin takes. Nothing is ever proven by it.
    static func pause(_ seconds: Double) {
        guard seconds > 0 else { return }
        usleep(UInt32(min(seconds, 600) * 1e6))
    }
}
