package import HTTPCache
package import HTTPCacheOperations

extension InvalidationSharing {
    /// The shortest and longest pause between two checks of the level reached.
    private static let askingPauses = (first: Duration.milliseconds(10), longest: Duration.milliseconds(100))
    /// The time that one request waits for the log's replicas.
    private static let replicaWait = Duration.milliseconds(10)

    /// Waits until everything that this node has journaled so far has reached a level.
    ///
    /// Returns the level reached so far if the time limit passes or the task is canceled.
    package func reach(_ level: PurgeLevel, within limit: Duration) async -> PurgeReach {
        await reach(level, within: limit, on: clock)
    }

    private func reach<C: Clock>(
        _ level: PurgeLevel,
        within limit: Duration,
        on clock: C
    ) async -> PurgeReach where C.Duration == Duration {
        // A purge before the store has joined may not be in the journal, so its publication cannot
        // be seen.
        guard identity != nil else {
            return PurgeReach(
                level: .queued,
                note: "The store could not join the fleet log. Once it can, all nodes receive the purge, or validate "
                    + "every stored response before its next use."
            )
        }
        let additions = log.additionCount
        let end = clock.now.advanced(by: limit)
        var pause = Self.askingPauses.first
        // Only the last check counts: the log may lose entries until this node publishes them
        // again.
        var reach = PurgeReach(level: .queued)
        while true {
            let left = clock.now.duration(to: end)
            let isPublished = (publishedAdditions ?? 0) >= additions && publishedAdditions != nil
            if level > .queued, isPublished {
                if level == .published {
                    reach = PurgeReach(level: .published, position: "\(published)")
                } else if left > .zero || reach.level == .queued {
                    reach = await checkReach(level, within: left)
                }
            }
            if reach.level >= level || Task.isCancelled || clock.now >= end { break }
            let rest = clock.now.duration(to: end)
            await nextEvent(within: min(isPublished ? pause : Self.askingPauses.longest, rest))
            if isPublished { pause = min(pause * 2, Self.askingPauses.longest) }
        }
        reach.note = note(reach, asked: level)
        return reach
    }

    /// Checks once how far the published purges have spread.
    package func checkReach(_ level: PurgeLevel, within left: Duration) async -> PurgeReach {
        var reach = PurgeReach(level: .published, position: "\(published)")
        guard left > .zero, let epoch = await presentEpoch() else { return reach }
        let position = published
        reach.position = "\(position)"
        if settings.quorum > 0 || level == .replicated {
            await ask(\.replicasAsked, within: left) { try await self.askReplicas(epoch, $0) }
        }
        if let confirmation = reaching.confirmation, confirmation.epoch == epoch, confirmation.position >= position {
            reach.replicas = confirmation.replicas
        }
        guard settings.quorum == 0 || reach.replicas ?? 0 >= settings.quorum else { return reach }
        reach.level = .replicated
        guard level == .everywhere else { return reach }
        await ask(\.nodesAsked, within: left) { try await self.askNodes(epoch, $0) }
        // Nodes in the rows of a later epoch may never have read this node's entries.
        guard let rows = reaching.rows, rows.epoch == epoch, await presentEpoch() == epoch,
            published == position
        else { return reach }
        let progress = NodeProgress(
            rows.rows,
            own: identity,
            position: position,
            at: rows.time,
            cutOff: settings.cutOff,
            lease: settings.lease
        )
        reach.nodes = progress.nodes
        // If the log has lost a node's row, another node that remembers it has written the row
        // again by now, or the node's lease has expired.
        let time = settings.lease * 1.02
        let isNamed =
            rows.beganAt.map { $0.adding(time) < rows.time } ?? false
            || reaching.hasOutlasted(time, before: epoch, at: uptime())
        if progress.isEverywhere, isNamed { reach.level = .everywhere }
        return reach
    }

    /// Returns the epoch that this node follows; `nil` if the node does not follow the log, or
    /// still has purges to publish.
    package func presentEpoch() async -> UInt64? {
        guard let epoch = follower?.epoch?.number, follower?.isFollowing == true,
            (try? await log.unpublishedCount()) == 0, follower?.epoch?.number == epoch
        else { return nil }
        return epoch
    }

    // MARK: Requests to the log

    /// Sends a request to the log, unless another call is sending the same request or sent it a
    /// moment ago.
    private func ask(
        _ asked: WritableKeyPath<ReachState, Duration?>,
        within left: Duration,
        _ question: (Duration) async throws -> Void
    ) async {
        let now = uptime()
        if let earlier = reaching[keyPath: asked], now - earlier < Self.askingPauses.first { return }
        let limit = min(settings.timeout, left)
        // Until the request's deadline, other callers do not send it again.
        reaching[keyPath: asked] = now + limit
        // Errors are ignored: the tasks that follow the log handle a log that does not reply.
        try? await question(limit)
        reaching[keyPath: asked] = uptime()
    }

    private func askReplicas(_ epoch: UInt64, _ limit: Duration) async throws {
        let position = published
        let replicas = try await engine.confirm(
            replicas: settings.quorum,
            in: epoch,
            wait: settings.quorum == 0 ? .zero : min(Self.replicaWait, limit),
            within: limit
        )
        reaching.confirmation = ReachState.Confirmation(epoch: epoch, position: position, replicas: replicas)
    }

    private func askNodes(_ epoch: UInt64, _ limit: Duration) async throws {
        let rows = try await engine.nodes(within: limit)
        let time = try await engine.time(within: limit)
        // An epoch's first entry does not change.
        let marker: LogEntry?
        if let known = reaching.rows, known.epoch == epoch, known.beganAt != nil {
            marker = nil
        } else {
            marker = try await engine.entry(at: LogPosition(epoch: epoch, number: 1), within: limit)
        }
        guard try await engine.epoch(within: limit)?.number == epoch else { throw FleetLogError.wrongEpoch }
        // If the log has lost rows, the next confirmation writes them again.
        _ = roster.note(rows, at: time)
        let earlier = reaching.rows.flatMap { $0.epoch == epoch ? $0.beganAt : nil }
        reaching.rows = ReachState.Rows(
            epoch: epoch,
            rows: roster.rows,
            time: time,
            beganAt: earlier ?? marker?.addedAt
        )
    }

    /// Waits for the next change, up to a time limit.
    private func nextEvent(within limit: Duration) async {
        let number = reaching.waiters.makeNumber()
        let clock = clock
        let timer = Task {
            try? await clock.sleep(for: limit, tolerance: nil)
            self.wake(number)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { reaching.waiters.add($0, number) }
        } onCancel: {
            timer.cancel()
        }
        timer.cancel()
    }

    private func wake(_ number: UInt64) { reaching.waiters.wake(number) }

    // MARK: Words

    private func note(_ reach: PurgeReach, asked level: PurgeLevel) -> String? {
        if reach.level >= level {
            guard level >= .replicated, settings.quorum == 0 else { return nil }
            return "No replica needs to confirm purges ('fleet.quorum' is 0), so a failover may lose the purge until a "
                + "node that has the purge publishes it again."
        }
        switch reach.level {
        case .queued:
            let why = status.state == .following ? nil : status.problem
            return "The purge waits in this node's journal and is published once the fleet log is usable"
                + (why.map { ". Its last problem: \($0). 'holdfast fleet check' shows the next step." } ?? ".")
        case .published:
            return settings.quorum == 0
                ? "The fleet log did not reply in time."
                : "\(reach.replicas ?? 0) of \(settings.quorum) replicas confirmed the purge."
        case .replicated, .everywhere:
            guard let nodes = reach.nodes else {
                return "The fleet log did not report which nodes have applied the purge."
            }
            if nodes.behind == 0 {
                return
                    "The log was started anew within the last \(settings.lease). A node that is not yet listed may "
                    + (settings.cutOff == .validate
                        ? "serve stored responses until its lease ends." : "serve stored responses.")
            }
            let first = nodes.waiting.first
            let (verb, link) = nodes.behind == 1 ? ("has", ": ") : ("have", "; the first is ")
            let who = first.map { "\(link)'\($0.node)', last seen \($0.seenSeconds) s ago" } ?? ""
            let unopened = first?.unopened.map {
                " That node cannot open \(LogEntry.counted($0)). Set the fleet's secret there ('fleet.secret', 'fleet.next-secret')."
            }
            return "\(nodes.behind) of \(nodes.behind + nodes.applied) nodes \(verb) not applied the purge yet\(who)."
                + (unopened ?? "")
        }
    }

    // MARK: The fleet

    /// Returns the state of this node, and of the other nodes in the log.
    package func fleet() async -> FleetState {
        var fleet = FleetState(
            node: settings.node.text,
            state: status.state.name,
            position: status.position,
            contactSeconds: status.contactAge.map { ($0 / .milliseconds(1)).rounded() / 1000 },
            waiting: status.waiting,
            problem: status.state == .following ? nil : status.problem,
            epochs: status.counts.epochs,
            gaps: status.counts.gaps
        )
        fleet.behind = status.behind
        fleet.unopened = status.unopened == 0 ? nil : Int64(clamping: status.unopened)
        fleet.namesakes = status.namesakes.isEmpty ? nil : status.namesakes
        guard status.state == .following, let present = try? await engine.nodes(within: settings.timeout),
            let now = try? await engine.time(within: settings.timeout),
            let end = try? await engine.bounds(within: settings.timeout)?.last
        else { return fleet }
        _ = roster.note(present, at: now)
        let others = roster.rows.filter { $0.report.identity != identity && !$0.report.hasEnded }
        fleet.nodes = others.prefix(FleetState.limit).map { FleetState.Node($0, at: now, end: end) }
        return fleet
    }
}

extension FleetState.Node {
    /// - Parameters:
    ///   - now: the time on the clock of the log's server.
    ///   - end: the end of the log; `nil` if the log is empty.
    package init(_ row: NodeRow, at now: EngineTime, end: LogPosition?) {
        self.init(
            name: row.report.name.text,
            version: row.report.version,
            seenSeconds: row.secondsAgo(at: now),
            behind: end.flatMap { row.report.applied.distance(to: $0) },
            waiting: Int64(clamping: row.report.unpublished),
            unopened: row.report.unopened == 0 ? nil : Int64(clamping: row.report.unopened),
            identity: "\(row.report.identity)"
        )
    }
}
