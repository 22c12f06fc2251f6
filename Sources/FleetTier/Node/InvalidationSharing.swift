package import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics
package import Logging
import Synchronization

/// Shares a store's invalidations with the other nodes of a fleet, through a log that all nodes
/// read and write.
///
/// The local store is always authoritative. The server may be unreachable or slow, lose its log, or
/// lie. The worst effects are that purges reach other nodes late, and that stored responses are
/// marked. Marked responses are validated before their next use. A purge takes effect and is
/// durable here before the log receives it.
///
/// ``run()`` performs these steps until it is canceled: ``connect()``, ``read(wait:)``,
/// ``publish()``, ``confirm()``. Tests call them one by one.
package actor InvalidationSharing {
    /// The time during which a removing purge also removes responses at other nodes. After that, a
    /// node's copy may be newer than the purge, or the only offline copy, so the purge only marks
    /// it.
    static let removalTime = Duration.seconds(60)
    /// The pause between two reads under load. After each read, every hot response must check its
    /// conditions again.
    static let readingPause = Duration.milliseconds(25)
    /// The number of consecutive failures after which a warning is logged.
    static let failuresUntilWarning = 4
    /// The maximum number of entries in one read, and the maximum number of invalidations taken
    /// from the journal at once.
    static let batch = LogBatch.mostEntries
    /// The maximum number of bytes published in one call, unless a single entry is longer.
    static let publishedBytes = 64 << 10

    let log: any InvalidationLog
    let engine: any FleetLog
    private nonisolated let sealing: Mutex<Sealing>
    package nonisolated let settings: Settings
    let clock: any Clock<Duration>
    private let wall: any WallClock
    let uptime: @Sendable () -> Duration
    let logger: Logger
    package nonisolated let status: SharingStatus
    /// Decides whether other nodes' responses are current; `nil` if only invalidations are shared.
    private let purges: PurgeView?
    private nonisolated let places = Mutex<(any OriginURLFinding)?>(nil)
    private var generator: any RandomNumberGenerator & Sendable

    private(set) var follower: Follower?
    /// Identifies this node; `nil` before the store has joined the log.
    package private(set) var identity: NodeIdentity?
    private let process: UInt64
    /// The fleet's nodes as this node has seen them.
    var roster = NodeRoster()
    var watch = NodeWatch()
    /// Whether this node has stopped reporting.
    var isEnding = false
    /// When ``run()`` started.
    private var startedAt: Duration?
    /// The server's time minus this node's time, in milliseconds, as last measured.
    private var offset: Int64 = 0
    /// Whether this node has followed the log since startup.
    private var hasFollowed = false
    /// The number of consecutive failures.
    private var failures = 0
    /// A position in the log. Every entry that this node has published is at or before it.
    private(set) var published = LogPosition.zero
    /// The number of published additions to the journal; `nil` before the first check of the
    /// journal.
    private(set) var publishedAdditions: UInt64?
    /// The position up to which the log has everything that this node has published; `nil` until
    /// that is known.
    package var publishedPosition: LogPosition? { publishedAdditions.map { _ in published } }
    /// The callers that wait for a publication or for the log's confirmation.
    var reaching = ReachState()
    /// The last position that is durable in the store. A power failure may lose later entries, so
    /// other nodes must not rely on them.
    private var durable: LogPosition?
    /// Whether the last page was full, so that the log may have more entries.
    private(set) var isBehind = false
    /// The size of the next page of the log.
    var pages = PageSize()
    /// The purges of the retained log, while it is being read again.
    var retained: RetainedPurges?
    /// When the log last said that this node is catching up; `nil` if it is not.
    var catchUpToldAt: Duration?
    /// When this node last reported its progress while catching up.
    var progressReportedAt: Duration?

    package init(
        log: any InvalidationLog,
        engine: any FleetLog,
        sealer: LogSealer,
        settings: Settings,
        purges: PurgeView? = nil,
        status: SharingStatus = SharingStatus(),
        clock: any Clock<Duration> = ContinuousClock(),
        wall: any WallClock = SystemWallClock(),
        uptime: @escaping @Sendable () -> Duration = InvalidationSharing.systemUptime,
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
        logger: Logger = Logger(label: "holdfast.fleet")
    ) {
        var generator = generator
        process = generator.next()
        self.uptime = uptime
        self.log = log
        self.engine = engine
        sealing = Mutex(Sealing(sealer: sealer))
        self.purges = purges
        self.settings = settings
        self.clock = clock
        self.wall = wall
        self.generator = generator
        self.logger = logger
        self.status = status
    }

    private static let start = ContinuousClock.now
    /// Returns the time since a fixed instant in the past, on a monotonic clock.
    package static let systemUptime: @Sendable () -> Duration = { ContinuousClock.now - start }

    /// The current time on the server's clock, as last measured.
    var engineTime: EngineTime { EngineTime(milliseconds: wall.now().milliseconds + offset) }

    func setIdentity(_ identity: NodeIdentity) { self.identity = identity }

    /// Sets where this node stores the responses to the URLs that clients request. Purges of URLs
    /// and prefixes also cover these places, in addition to those that the accepting node found.
    package nonisolated func resolve(by places: any OriginURLFinding) {
        self.places.withLock { $0 = places }
    }

    private func resolved(_ invalidation: FleetInvalidation) -> FleetInvalidation {
        places.withLock { $0 }.map { invalidation.resolved(by: $0) } ?? invalidation
    }

    // MARK: Secrets

    /// The sealer, which is replaced with the fleet's secrets.
    private struct Sealing {
        var sealer: LogSealer
        /// Whether entries that could not be opened have not been tried since.
        var isNew = false
    }

    /// Seals and opens entries with other secrets from now on. Entries that could not be opened are
    /// read again.
    package nonisolated func replaceSealer(with sealer: LogSealer) {
        sealing.withLock { $0 = Sealing(sealer: sealer, isNew: true) }
    }

    private var sealer: LogSealer { sealing.withLock { $0.sealer } }

    private func takeNewSecrets() -> Bool {
        sealing.withLock { sealing in
            defer { sealing.isNew = false }
            return sealing.isNew
        }
    }

    // MARK: Steps

    /// Starts journaling the store's invalidations. Call it before anything can purge, because
    /// earlier invalidations are not journaled. Does nothing if the store has joined. Needs no
    /// server.
    package func join() async throws {
        guard follower == nil else { return }
        let place = try await log.join(settings.namespace.text, at: wall.now())
        guard follower == nil else { return }
        follower = Follower(cursor: place.cursor, lease: settings.lease)
        identity = NodeIdentity(store: place.node, process: process)
        if roster.rows.isEmpty { roster = NodeRoster(notes: place.notes) }
        durable = nil
    }

    /// Joins the log, and begins an epoch if the server does not have one.
    package func connect() async throws {
        status.enter(.connecting)
        status.countConnection()
        purges?.follow(false)
        try await join()
        status.setWaiting(try await log.unpublishedCount())
        try await measureTime()
        // A copy, because other steps run while this step waits for the server.
        var random = generator
        let epoch = try await engine.begin(
            knowing: follower?.highestEpoch ?? 0,
            using: &random,
            within: settings.timeout
        )
        generator = random
        follower?.begin(epoch)
        // Even in the same epoch, the node must first read the entries that it missed.
        status.enter(.resyncing)
    }

    func measureTime() async throws {
        let start = wall.now().milliseconds
        let time = try await engine.time(within: settings.timeout)
        let end = wall.now().milliseconds
        offset = time.milliseconds - (start + (end - start) / 2)
        purges?.setOffset(offset)
    }

    /// Reads the next entries and applies them.
    ///
    /// - Parameter wait: the time to wait for the first entry.
    /// - Returns: the number of entries.
    @discardableResult
    package func read(wait: Duration) async throws -> Int {
        // A confirmation counts again only after all entries have been read, as after a restart.
        if takeNewSecrets(), follower?.readHeldAgain() == true { throw FleetLogError.wrongEpoch }
        guard let present = follower else { throw FleetLogError.wrongEpoch }
        if present.cursor.position == .zero, let bounds = try await engine.bounds(within: settings.timeout) {
            try await apply(present.first(bounds))
            logger.notice(
                "joined the fleet log; earlier stored responses are validated before their next use",
                metadata: ["fleet.namespace": "\(settings.namespace)", "fleet.node": "\(settings.node)"]
            )
        }
        guard let after = follower?.readsAfter else { throw FleetLogError.wrongEpoch }
        let (batch, isFull) = try await page(after: after, wait: wait)
        let decision = follower?.decide(batch) { sealed, _ in self.open(sealed) }
        switch decision {
        case .apply(let reading):
            try await apply(reading)
            status.noteContact()
            isBehind = isFull
            let isFollowing = follower?.isFollowing == true && !isFull
            if isFollowing {
                if let purges { try await readRetained(for: purges) }
                noteFollowing()
            } else if isFull {
                await noteMore(after: reading.cursor.position)
            }
            purges?.follow(isFollowing)
            status.enter(isFollowing ? .following : .resyncing)
            return batch.entries.count
        case .readAgain:
            status.enter(.resyncing)
            purges?.follow(false)
            return try await read(wait: .zero)
        case .begin, nil:
            throw FleetLogError.wrongEpoch
        }
    }

    /// Records that the log was read to its end.
    private func noteFollowing() {
        if failures >= Self.failuresUntilWarning {
            logger.notice(
                "the fleet log is usable again",
                metadata: ["fleet.namespace": "\(settings.namespace)"]
            )
        }
        failures = 0
        noteCaughtUp()
        guard !hasFollowed else { return }
        hasFollowed = true
        logger.notice("following the fleet log", metadata: ["fleet.node": "\(settings.node)"])
    }

    private func apply(_ reading: Follower.Reading) async throws {
        // Set this before the journal is updated: a caller that checks in between must not get a
        // position that is too early.
        if mayHaveOwn(reading) { published = max(published, reading.cursor.position) }
        if !reading.steps.isEmpty || reading.cursor != follower?.cursor {
            let fresh = try await log.append(reading.steps, through: reading.kept, at: wall.now())
            status.count(reading, fresh: fresh)
        }
        if reading.hold != nil, follower?.hold == nil { reportHold(reading) }
        follower?.commit(reading)
        if reading.hasGap { retained = nil }
        purges?.apply(reading)
        if reading.hasGap, reading.steps != [.distrust] {
            logger.notice(
                "purges of other nodes may have been missed; stored responses are validated before their next use",
                metadata: ["fleet.position": "\(reading.cursor.position)"]
            )
        }
    }

    private func reportHold(_ reading: Follower.Reading) {
        logger.error(
            """
            entries of the fleet log cannot be opened, so purges of other nodes are not in force here; \
            set the secret of the other nodes here ('fleet.secret', 'fleet.next-secret'), or update this \
            node if they run a newer version
            """,
            metadata: [
                "fleet.position": "\(reading.hold?.first ?? .zero)", "fleet.node": "\(settings.node)",
                "fleet.entries": "\(reading.hold?.count ?? 0)",
            ]
        )
    }

    /// Returns whether the reading may include one of this node's waiting invalidations. The reply
    /// to its publication may have been lost, or another node may have published it again.
    private func mayHaveOwn(_ reading: Follower.Reading) -> Bool {
        publishedAdditions.map { $0 < log.additionCount } ?? true
            || reading.steps.contains { if case .republish = $0 { true } else { false } }
    }

    /// Decrypts a purge. Returns `nil` if the purge does not belong to this fleet.
    func open(_ sealed: [UInt8]) -> FleetInvalidation? {
        guard let record = try? sealer.open(sealed), let scope = record.selector.scope else { return nil }
        var effect = record.effect
        // Use the earlier of the times on the server's clock and on the sender's clock, because the
        // server may report a wrong time.
        let issuedAt = min(EngineOffset(milliseconds: offset).timestamp(record.issuedAt), record.issuedLocally)
        let oldest = wall.now().adding(.zero - Self.removalTime)
        if effect == .remove, issuedAt < oldest { effect = .mark(.unspecified) }
        return resolved(FleetInvalidation(id: record.id, scope: scope, effect: effect, issuedAt: issuedAt))
    }

    /// Publishes waiting invalidations in order.
    ///
    /// - Returns: the number of published invalidations.
    @discardableResult
    package func publish() async throws -> Int {
        var count = 0
        while true {
            guard let epoch = follower?.epoch else { throw FleetLogError.wrongEpoch }
            let additions = log.additionCount
            let waiting = try await log.unpublished(limit: Self.batch)
            let isAll = waiting.count < Self.batch
            status.setWaiting(isAll ? waiting.count : try await log.unpublishedCount())
            if waiting.isEmpty {
                notePublished(additions)
                return count
            }
            var positions: [PurgeID: LogPosition] = [:]
            var failure: (any Error)?
            do {
                while positions.count < waiting.count {
                    let entries = try seal(waiting[positions.count...])
                    let places = try await engine.append(entries, in: epoch.number, within: settings.timeout)
                    guard (1...entries.count).contains(places.count) else {
                        throw FleetLogError.malformed("positions")
                    }
                    for (invalidation, place) in zip(waiting[positions.count...], places) {
                        // Note the purge before it counts as published, so that it is known at
                        // every moment.
                        purges?.note(resolved(invalidation), at: place)
                        positions[invalidation.id] = place
                    }
                }
            } catch {
                failure = error
            }
            if let last = positions.values.max() { published = max(published, last) }
            // Record the positions even if one entry failed, because the other entries need not be
            // published again.
            if !positions.isEmpty { try await log.published(positions) }
            count += positions.count
            status.countPublished(positions.count)
            if let failure { throw failure }
            // Additions that arrive in the meantime send their own signal.
            guard isAll else { continue }
            status.setWaiting(0)
            notePublished(additions)
            return count
        }
    }

    private func notePublished(_ additions: UInt64) {
        purges?.notePublished(additions)
        // Until the log has been read, this node does not know the log positions of purges from
        // before startup.
        guard hasFollowed else { return }
        publishedAdditions = max(additions, publishedAdditions ?? 0)
        reaching.waiters.wakeAll()
    }

    /// Seals as many waiting invalidations as fit in one call.
    private func seal(_ waiting: ArraySlice<FleetInvalidation>) throws -> [NewEntry] {
        var entries: [NewEntry] = []
        var byteCount = 0
        for invalidation in waiting.prefix(NewEntry.most) {
            let sealed: [UInt8]
            do {
                sealed = try seal(invalidation)
            } catch {
                // The entries before the invalid entry are published first.
                if entries.isEmpty { throw error }
                break
            }
            byteCount += sealed.count
            if !entries.isEmpty, byteCount > Self.publishedBytes { break }
            entries.append(NewEntry(purge: invalidation.id, sealed: sealed))
        }
        return entries
    }

    private func seal(_ invalidation: FleetInvalidation) throws -> [UInt8] {
        let issuedAt = EngineTime(milliseconds: invalidation.issuedAt.adding(milliseconds: offset).milliseconds)
        let record = PurgeRecord(
            id: invalidation.id,
            node: settings.node,
            effect: invalidation.effect,
            selector: ScopeSelector(invalidation.scope),
            issuedAt: issuedAt,
            issuedLocally: invalidation.issuedAt
        )
        return try sealer.seal(record, using: &generator)
    }

    /// Reports this node's position to the other nodes, and waits until the log confirms the
    /// earlier writes.
    package func confirm() async throws {
        guard let follower, let epoch = follower.epoch, follower.isFollowing, !isEnding else { return }
        let through = max(follower.cursor.position, published)
        let start = wall.now()
        // This monotonic clock keeps running while the machine is suspended.
        let contact = ContinuousClock.now
        let time = EngineTime(milliseconds: start.milliseconds + offset)
        reaching.note(following: epoch.number, at: uptime())
        guard identity != nil else { return }
        try await announce(follower, in: epoch.number)
        if settings.quorum > 0 {
            let replicas = try await engine.confirm(
                replicas: settings.quorum,
                in: epoch.number,
                wait: settings.timeout,
                within: settings.timeout
            )
            guard replicas >= settings.quorum else { return giveUpStart() }
        }
        // If the log was read to its end, all purges from before startup are applied, and from now
        // on other nodes wait for this node.
        if status.state == .following { settings.contact?.endStart() }
        // Another epoch may have begun in the meantime. This confirmation does not cover it.
        guard self.follower?.epoch == epoch else { return }
        self.follower?.confirm(at: time)
        // A purge that cannot be decrypted may affect any response.
        if self.follower?.hold == nil { settings.contact?.extend(from: contact, by: settings.lease) }
        try await log.settle(
            through: through,
            at: start,
            forgetting: start.adding(milliseconds: -1000 * settings.settledTime)
        )
    }

    /// Tells the other nodes which entries this node has applied and synced to disk.
    ///
    /// - Parameter follower: the entries that this node has applied.
    func announce(_ follower: Follower, in epoch: UInt64) async throws {
        try await makeDurable()
        // Do this before announcing this node: from then on, other nodes count it, so they must
        // also learn of every node that it knows.
        try await tendNodes(in: epoch, at: follower)
        guard let identity else { return }
        try await engine.announce(report(follower, as: identity), in: epoch, within: settings.timeout)
    }

    /// Syncs the applied entries to disk, unless the store has already synced them.
    func makeDurable() async throws {
        guard let position = follower?.cursor.position, position != durable else { return }
        try await log.synchronize()
        durable = position
    }

    /// Removes old entries from the log. Any node may do this.
    package func trim() async throws {
        let now = engineTime
        try await engine.trim(
            LogRetention(
                since: now.adding(.zero - settings.retention.time),
                count: settings.retention.entries,
                nodesSince: now.adding(.zero - NodeRoster.lifetime)
            ),
            within: settings.timeout
        )
        // A removed entry cannot be read again, so a held entry that was removed can never be
        // decrypted.
        guard follower?.hold != nil, let bounds = try await engine.bounds(within: settings.timeout),
            let reading = follower?.forgotten(before: bounds.first)
        else { return }
        try await apply(reading)
    }

    func additions() -> AsyncStream<Void> { log.additions() }

    /// Sleeps for the duration, plus or minus up to 20 percent, so that the nodes of a fleet do not
    /// act in lockstep.
    func pause(_ duration: Duration) async throws {
        try await clock.sleep(for: duration * Double.random(in: 0.8...1.2, using: &generator), tolerance: nil)
    }

    func begin() { startedAt = startedAt ?? uptime() }

    /// Ends the wait at startup once `startLimit` has passed. From then on, the `cut-off` setting
    /// applies.
    func giveUpStart() {
        if let startedAt, uptime() - startedAt >= settings.startLimit { settings.contact?.endStart() }
    }

    func fail(_ error: any Error) {
        status.countFailure(error)
        disconnect(because: error)
        giveUpStart()
        failures += 1
        // A single failure is not logged: the connection may still be opening, for example.
        guard failures == Self.failuresUntilWarning else { return }
        logger.warning(
            "the fleet log is unusable; this node's purges wait, and purges of other nodes arrive late",
            metadata: ["error": "\(status.problem ?? "\(error)")", "fleet.namespace": "\(settings.namespace)"]
        )
    }

    /// Records that the connection was lost. The position in the log stays in the store.
    package func disconnect(because error: any Error) {
        if case InvalidationLogError.notJoined = error { follower = nil }
        follower?.loseContact()
        purges?.follow(false)
        status.enter(.cutOff)
    }
}
