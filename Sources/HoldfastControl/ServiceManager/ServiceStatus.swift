package import Foundation
package import HTTPCache
package import HTTPCacheOperations
package import HTTPCacheSemantics
import Synchronization

/// Sends a one-line status of the gateway to the service manager, for `systemctl status`.
package final class ServiceStatus: Sendable {
    private struct State {
        var shown: String?
        var isEnding = false
    }

    private let manager: ServiceManager
    private let state = Mutex(State())

    /// The time between two checks of the gateway.
    package static let interval = Duration.seconds(5)

    package init(_ manager: ServiceManager) { self.manager = manager }

    /// Sends the status when it changes, until the task is canceled.
    ///
    /// - Parameter sentence: returns the current status.
    package func follow(
        clock: any Clock<Duration> = ContinuousClock(),
        _ sentence: @Sendable () async -> String
    ) async {
        guard manager.isPresent else { return }
        while !Task.isCancelled {
            show(await sentence())
            try? await clock.sleep(for: Self.interval)
        }
    }

    /// Reports that the gateway is shutting down. No other status is sent afterward.
    ///
    /// - Returns: whether this is the first call.
    package func end() -> Bool {
        state.withLock { state in
            guard !state.isEnding else { return false }
            state.isEnding = true
            manager.notify(.status("Stopping"))
            return true
        }
    }

    /// Sends the status if it has changed. The lock is held meanwhile, so that statuses arrive in
    /// order.
    private func show(_ sentence: String) {
        state.withLock { state in
            guard !state.isEnding, state.shown != sentence else { return }
            // Remember the status only if it was sent, so that a failure is retried.
            if manager.notify(.status(sentence)) { state.shown = sentence }
        }
    }
}

extension ServiceStatus {
    /// Returns the status of a serving gateway: `Serving; 1 of 3 origins unreachable for 12 min`.
    ///
    /// The status contains no origin names, so its length is bounded. Unless the state changes, the
    /// text changes at most once a minute.
    ///
    /// - Parameter zone: the time zone for times of day.
    package static func sentence(
        _ origins: [OriginCondition],
        _ mode: ModeState,
        _ store: StoreCondition,
        at now: Timestamp,
        in zone: TimeZone = .current
    ) -> String {
        var parts = ["Serving"]
        switch store {
        case .usable: break
        case .readOnly: parts.append("store read-only")
        case .notWritable: parts.append("disk not writable")
        case .full, .evicting, .readOnlyOnFullDisk: parts.append("disk full")
        case .fullOfPins: parts.append("store full of pins")
        case .replaced: parts.append("store's folder replaced")
        case .unreadable: parts.append("store unreadable")
        }
        if let temporary = mode.temporary {
            parts.append("mode \(temporary.value.rawValue) until \(clockText(temporary.until, at: now, in: zone))")
        } else if mode.configured != .automatic {
            parts.append("mode \(mode.configured.rawValue)")
        }
        let unreachable = origins.filter { $0.reachability == .unreachable }
        if !unreachable.isEmpty {
            let most = unreachable.count > 1 ? "up to " : ""
            let time = unreachable.compactMap(\.since).min().map { " for \(most)\(minutes(since: $0, at: now))" } ?? ""
            parts.append("\(unreachable.count) of \(origins.count) origins unreachable\(time)")
        }
        return parts.joined(separator: "; ")
    }

    private static func minutes(since instant: Timestamp, at now: Timestamp) -> String {
        let milliseconds = now.milliseconds(since: instant)
        return milliseconds < 60_000 ? "less than a minute" : StatusReport.duration(milliseconds)
    }

    /// Returns the time of day, with the date if the time is at least a day away.
    private static func clockText(_ instant: Timestamp, at now: Timestamp, in zone: TimeZone) -> String {
        let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
        let time = [parts.hour, parts.minute].map { padded($0) }.joined(separator: ":")
        guard instant.milliseconds(since: now) >= 86_400_000 else { return time }
        return [parts.year, parts.month, parts.day].map { padded($0) }.joined(separator: "-") + " " + time
    }

    private static func padded(_ number: Int?) -> String {
        let text = "\(number ?? 0)"
        return text.count < 2 ? "0" + text : text
    }
}
