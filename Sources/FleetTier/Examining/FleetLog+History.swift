package import HTTPCache

/// An epoch of a log, read from its marker.
package struct LogEpochReport: Sendable, Hashable {
    package var epoch: LogEpoch
    /// When the epoch began, on the server's clock.
    package var beganAt: EngineTime
    /// The last entry that the epoch inherited from the previous epoch; `nil` if the log was new or
    /// lost.
    package var inherited: LogPosition?

    package init(epoch: LogEpoch, beganAt: EngineTime, inherited: LogPosition?) {
        self.epoch = epoch
        self.beganAt = beganAt
        self.inherited = inherited
    }
}

extension FleetLog {
    /// Returns the epochs whose markers are still in the log, most recent epoch first.
    ///
    /// - Parameters:
    ///   - count: the maximum number of epochs.
    ///   - limit: the time limit for each call to the server.
    package func epochs(most count: Int, within limit: Duration) async throws(FleetLogError) -> [LogEpochReport] {
        guard let last = try await bounds(within: limit)?.last else { return [] }
        var epochs: [LogEpochReport] = []
        var number = last.epoch
        while epochs.count < count {
            let marker = try await entry(at: LogPosition(epoch: number, number: 1), within: limit)
            guard let marker, case .marker(let content) = marker.content else { break }
            epochs.append(
                LogEpochReport(
                    epoch: LogEpoch(number: number, name: content.name),
                    beganAt: marker.addedAt,
                    inherited: content.inherited
                )
            )
            // Epoch numbers only increase. A marker that breaks this rule was not written by this
            // program.
            guard let inherited = content.inherited, inherited.epoch < number else { break }
            number = inherited.epoch
        }
        return epochs
    }

    /// Returns the position just before the last `count` entries; `nil` if the log is empty.
    ///
    /// - Parameters:
    ///   - count: the number of entries to go back. Removed entries count, too.
    ///   - limit: the time limit for each call to the server.
    package func position(
        before count: Int,
        within limit: Duration
    ) async throws(FleetLogError) -> LogPosition? {
        guard var end = try await bounds(within: limit)?.last else { return nil }
        var left = UInt64(clamping: count)
        // Each marker leads to the previous epoch.
        for _ in 0..<LogCursor.epochLimit {
            guard end.number < left else { return LogPosition(epoch: end.epoch, number: end.number - left) }
            left -= end.number
            let marker = try await entry(at: LogPosition(epoch: end.epoch, number: 1), within: limit)
            guard case .marker(let content) = marker?.content, let inherited = content.inherited,
                inherited.epoch < end.epoch
            else { break }
            end = inherited
        }
        return .zero
    }
}
