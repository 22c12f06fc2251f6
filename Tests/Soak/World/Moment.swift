import Foundation

/// Seconds since the machine started, by a monotonic clock.
typealias Moment = Double

enum Clock {
    static func now() -> Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Waits, as a thinking client or a slow origin does. No judgement depends on it.
    static func pause(_ seconds: Double) {
        guard seconds > 0 else { return }
        usleep(UInt32(min(seconds, 600) * 1e6))  // lets time pass
    }
}
