import HTTPCache
import Logging

/// Reads the entries that arrived while this node was away, page by page.
///
/// Every page that arrives is kept, so an attempt that fails never starts again at the beginning.
extension InvalidationSharing {
    /// The interval between two lines of the log about a node that is catching up.
    private static let newsInterval = Duration.seconds(10)
    /// The interval between two reports to the other nodes while this node is catching up.
    private static let reportInterval = Duration.seconds(1)

    /// Reads the log to its end. A page that times out is read again as a smaller one.
    func catchUp() async throws {
        while true {
            let reductions = pages.reductions
            do {
                guard try await read(wait: .zero) > 0 else { return }
            } catch FleetLogError.timedOut where pages.reductions > reductions {
                status.countFailure(FleetLogError.timedOut)
                giveUpStart()
            }
            await reportProgress()
        }
    }

    /// Reads the next page.
    ///
    /// - Parameter wait: the time to wait for the first entry. With zero, this node is catching up,
    ///   and the page may take as long as ``Settings/catchUpLimit``.
    /// - Returns: the page, and whether the log may have more entries.
    func page(after position: LogPosition, wait: Duration) async throws -> (batch: LogBatch, isFull: Bool) {
        let count = pages.count
        do throws(FleetLogError) {
            let batch = try await engine.follow(
                after: position,
                count: count,
                wait: wait,
                within: wait > .zero ? settings.timeout : settings.catchUpLimit
            )
            pages.arrived(batch.entries.count)
            return (batch, batch.entries.count >= count)
        } catch {
            if error == .timedOut { pages.timedOut() }
            throw error
        }
    }

    /// Reads the whole retained log, to decide whether other nodes' responses are current. By now,
    /// this node has applied every entry, or has marked every response that it stored earlier.
    func readRetained(for purges: PurgeView) async throws {
        guard purges.needsLog, let end = follower?.cursor.position, let epoch = follower?.epoch else { return }
        if retained?.epoch != epoch {
            guard let bounds = try await engine.bounds(within: settings.timeout) else { return }
            retained = RetainedPurges(epoch: epoch, bounds: bounds)
        }
        while let position = retained?.position, position < end {
            status.setBehind(position.distance(to: end))
            let (batch, isFull) = try await page(after: position, wait: .zero)
            try retained?.take(batch) { self.open($0) }
            if isFull, let position = retained?.position { noteBehind(position.distance(to: end), at: position) }
        }
        // A gap that was found in the meantime requires another reading.
        guard let known = retained?.known else { throw FleetLogError.wrongEpoch }
        retained = nil
        purges.setKnown(known)
    }

    /// Records that the log has more entries after a position.
    func noteMore(after position: LogPosition) async {
        let end = try? await engine.bounds(within: settings.timeout)?.last
        noteBehind(end.flatMap { position.distance(to: $0) }, at: position)
    }

    /// Records the number of entries that this node has not read yet, and logs it now and then.
    private func noteBehind(_ entries: Int64?, at position: LogPosition) {
        status.setBehind(entries)
        guard catchUpToldAt.map({ uptime() - $0 >= Self.newsInterval }) ?? true else { return }
        catchUpToldAt = uptime()
        logger.notice(
            "catching up with the fleet log",
            metadata: [
                "fleet.node": "\(settings.node)", "fleet.position": "\(position)",
                "fleet.behind": "\(entries.map { "\($0)" } ?? "unknown")",
            ]
        )
    }

    /// Records that the log was read to its end.
    func noteCaughtUp() {
        status.setBehind(nil)
        guard catchUpToldAt != nil else { return }
        catchUpToldAt = nil
        logger.notice("caught up with the fleet log", metadata: ["fleet.node": "\(settings.node)"])
    }

    /// Reports how far this node is, so that operators see it at any node. The row says only what
    /// this node has applied durably. Nothing depends on the report, so a failure is ignored: the
    /// next read finds the same fault.
    private func reportProgress() async {
        guard let follower, let epoch = follower.epoch, follower.isFollowing, !isEnding,
            progressReportedAt.map({ uptime() - $0 >= Self.reportInterval }) ?? true
        else { return }
        progressReportedAt = uptime()
        try? await announce(follower, in: epoch.number)
    }
}
