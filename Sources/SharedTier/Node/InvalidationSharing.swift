package import HTTPCache
import HTTPCacheSemantics
package import Logging

/// Shares a store's invalidations with the other nodes of a fleet, by a log that all of them read
/// and write.
///
/// The local store stays the authority. An engine that cannot be reached, is slow, has lost its log
/// or lies leads at most to marks on stored responses, which are then validated before their next
/// use. A purge is in force here, and durable, before the log hears of it.
///
/// ``run()`` performs its steps until it is cancelled: ``connect()``, ``read(wait:)``,
/// ``publish()``, ``confirm()``. Tests call them one by one.
package actor InvalidationSharing {
    /// How long a purge that removes is in force as one: later, copies of other nodes may be newer
    /// than it, and the only ones offline. Then it marks.
    static let removalTime = Duration.seconds(60)
    /// Between two readings under load: each ends the conditions of all hot responses once.
    static let readingPause = Duration.milliseconds(25)
    /// The failures in a row after which the log says so, once.
    static let failuresUntilWarning = 4
    /// The entries of one reading, and the invalidations that are taken from the journal at a time.
    static let batch = LogBatch.mostEntries
    /// The bytes that are published in one call, unless a single entry has more.
    static let publishedBytes = 64 << 10

    let log: any InvalidationLog
    let engine: any SharedLog
    private let sealer: LogSealer
    package nonisolated let settings: Settings
    let clock: any Clock<Duration>
    private let wall: any WallClock
    let uptime: @Sendable () -> Duration
    let logger: Logger
    package nonisolated let status: SharingStatus
    /// By which responses of other nodes are judged; `nil` if only invalidations are shared.
    private let purges: PurgeView?
    private var generator: any RandomNumberGenerator & Sendable

    private(set) var follower: Follower?
    /// Tells this process from all others; `nil` before the store has joined.
    package private(set) var identity: NodeIdentity?
    private let process: UInt64
    /// The nodes of the fleet as this one has seen them.
    var roster = NodeRoster()
    var watch = NodeWatch()
    /// Nothing is reported any more.
    var isEnding = false
    /// When ``run()`` began.
    private var startedAt: Duration?
    /// The engine's time less the node's, in milliseconds, as it was measured last.
    private var offset: Int64 = 0
    /// Whether the log was followed since the start.
    private var hasFollowed = false
    /// The failures in a row.
    private var failures = 0
    /// Everything of this node that does not wait is in the log up to here.
    private(set) var published = LogPosition.zero
    /// How many additions to the journal are published; `nil` before the first look at it.
    private(set) var publishedAdditions: UInt64?
    /// The place up to which everything of this node is in the log that does not wait; `nil` before
    /// that is known.
    package var publishedPosition: LogPosition? { publishedAdditions.map { _ in published } }
    /// The callers that wait for a publication, or for the log's confirmation.
    var reaching = ReachState()
    /// The last place that is durable in the store. Entries behind it may be lost in a power cut,
    /// so no other node must rely on them.
    private var durable: LogPosition?

    package init(
        log: any InvalidationLog,
        engine: any SharedLog,
        sealer: LogSealer,
        settings: Settings,
        purges: PurgeView? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        wall: any WallClock = SystemWallClock(),
        uptime: @escaping @Sendable () -> Duration = InvalidationSharing.systemUptime,
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
        logger: Logger = Logger(label: "holdfast.shared")
    ) {
        var generator = generator
        process = generator.next()
        self.uptime = uptime
        self.log = log
        self.engine = engine
        self.sealer = sealer
        self.purges = purges
        self.settings = settings
        self.clock = clock
        self.wall = wall
        self.generator = generator
        self.logger = logger
        status = SharingStatus()
    }

    private static let start = ContinuousClock.now
    /// The time since an instant of the past, by a clock that is never set.
    package static let systemUptime: @Sendable () -> Duration = { ContinuousClock.now - start }

    /// Now, by the engine's clock as it was measured last.
    var engineTime: EngineTime { EngineTime(milliseconds: wall.now().milliseconds + offset) }

    func setIdentity(_ identity: NodeIdentity) { self.identity = identity }

    // MARK: Steps

    /// Joins the log, and begins an epoch if the server has none of its own.
    package func connect() async throws {
        status.enter(.connecting)
        status.countConnection()
        purges?.follow(false)
        if follower == nil {
            let place = try await log.join(settings.namespace.text, at: wall.now())
            follower = Follower(cursor: place.cursor, lease: settings.lease)
            identity = NodeIdentity(store: place.node, process: process)
            if roster.rows.isEmpty { roster = NodeRoster(notes: place.notes) }
            durable = nil
        }
        status.setWaiting(try await log.unpublishedCount())
        try await measureTime()
        // A copy, because other steps run while the engine is asked.
        var random = generator
        let epoch = try await engine.begin(
            knowing: follower?.highestEpoch ?? 0,
            using: &random,
            within: settings.timeout
        )
        generator = random
        follower?.begin(epoch)
        // Also in the same epoch: it has to read what it missed first.
        status.enter(.resyncing)
    }

    func measureTime() async throws {
        let start = wall.now().milliseconds
        let time = try await engine.time(within: settings.timeout)
        let end = wall.now().milliseconds
        offset = time.milliseconds - (start + (end - start) / 2)
        purges?.setOffset(offset)
    }

    /// Reads the next entries, and puts them in force.
    ///
    /// - Parameter wait: how long to wait for the first one.
    /// - Returns: how many entries there were.
    @discardableResult
    package func read(wait: Duration) async throws -> Int {
        guard let present = follower else { throw SharedLogError.wrongEpoch }
        if present.cursor.position == .zero, let bounds = try await engine.bounds(within: settings.timeout) {
            try await apply(present.first(bounds))
            logger.notice(
                "joined the shared log; earlier stored responses are validated before their next use",
                metadata: ["shared.namespace": "\(settings.namespace)", "shared.node": "\(settings.node)"]
            )
        }
        guard let after = follower?.readsAfter else { throw SharedLogError.wrongEpoch }
        let batch = try await engine.follow(
            after: after,
            count: Self.batch,
            wait: wait,
            within: settings.timeout
        )
        let decision = follower?.decide(batch) { sealed, _ in self.open(sealed) }
        switch decision {
        case .apply(let reading):
            try await apply(reading)
            status.noteContact()
            if failures >= Self.failuresUntilWarning {
                logger.notice(
                    "the shared log is usable again",
                    metadata: ["shared.namespace": "\(settings.namespace)"]
                )
            }
            failures = 0
            let isAtEnd = batch.entries.count < Self.batch
            let isFollowing = follower?.isFollowing == true && isAtEnd
            if isFollowing { try await readRetained() }
            purges?.follow(isFollowing)
            if isFollowing, !hasFollowed {
                hasFollowed = true
                logger.notice("following the shared log", metadata: ["shared.node": "\(settings.node)"])
            }
            status.enter(isFollowing ? .following : .resyncing)
            return batch.entries.count
        case .readAgain:
            status.enter(.resyncing)
            purges?.follow(false)
            return try await read(wait: .zero)
        case .begin, nil:
            throw SharedLogError.wrongEpoch
        }
    }

    private func apply(_ reading: Follower.Reading) async throws {
        // Before the journal knows, so that none is told of too early a position.
        if mayHaveOwn(reading) { published = max(published, reading.cursor.position) }
        if !reading.steps.isEmpty || reading.cursor != follower?.cursor {
            let fresh = try await log.append(reading.steps, through: reading.kept, at: wall.now())
            status.count(reading, fresh: fresh)
        }
        if reading.hold != nil, follower?.hold == nil { reportHold(reading) }
        follower?.commit(reading)
        purges?.apply(reading)
        if reading.hasGap, reading.steps != [.distrust] {
            logger.notice(
                "purges of other nodes may have been missed; stored responses are validated before their next use",
                metadata: ["shared.position": "\(reading.cursor.position)"]
            )
        }
    }

    private func reportHold(_ reading: Follower.Reading) {
        logger.error(
            """
            entries of the shared log cannot be opened, so purges of other nodes are not in force here; \
            set the secret of the other nodes here ('shared.secret', 'shared.next-secret')
            """,
            metadata: [
                "shared.position": "\(reading.hold?.first ?? .zero)", "shared.node": "\(settings.node)",
                "shared.entries": "\(reading.hold?.count ?? 0)",
            ]
        )
    }

    /// Whether something that waited may be among what was read: the reply to the call that
    /// published it was lost, or another node has published it again.
    private func mayHaveOwn(_ reading: Follower.Reading) -> Bool {
        publishedAdditions.map { $0 < log.additionCount } ?? true
            || reading.steps.contains { if case .republish = $0 { true } else { false } }
    }

    /// Reads all of the log that is retained, to judge responses of other nodes by it. It was in
    /// force here before, or everything that was stored before it is marked.
    private func readRetained() async throws {
        guard let purges, purges.needsLog, let end = follower?.cursor.position, let epoch = follower?.epoch,
            let bounds = try await engine.bounds(within: settings.timeout)
        else { return }
        var known = KnownPurges(floor: bounds.first.previous)
        var after = LogPosition.zero
        while after < end {
            let batch = try await engine.follow(after: after, count: Self.batch, wait: .zero, within: settings.timeout)
            guard batch.epoch == epoch, let first = batch.entries.first, let last = batch.entries.last else {
                throw SharedLogError.wrongEpoch
            }
            // Some may have been trimmed meanwhile.
            if after == .zero { known.raiseFloor(to: first.position.previous) }
            for entry in batch.entries {
                switch entry.content {
                case .marker: break
                // It may be about anything.
                case .unreadable: known.note(.all, at: entry.position)
                case .purge(let sealed):
                    known.note(open(sealed)?.scope ?? .all, at: entry.position)
                }
            }
            after = last.position
        }
        purges.setKnown(known)
    }

    /// Opens a sealed purge; `nil` if it is none of this fleet, which is counted.
    private func open(_ sealed: [UInt8]) -> SharedInvalidation? {
        guard let record = try? sealer.open(sealed), let scope = record.selector.scope else { return nil }
        var effect = record.effect
        // By the engine's clock and by those of both nodes: the engine may lie about its own.
        let issuedAt = min(EngineOffset(milliseconds: offset).timestamp(record.issuedAt), record.issuedLocally)
        let oldest = wall.now().adding(.zero - Self.removalTime)
        if effect == .remove, issuedAt < oldest { effect = .mark(.unspecified) }
        return SharedInvalidation(id: record.id, scope: scope, effect: effect, issuedAt: issuedAt)
    }

    /// Publishes what waits, in the order in which it came.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func publish() async throws -> Int {
        var count = 0
        while true {
            guard let epoch = follower?.epoch else { throw SharedLogError.wrongEpoch }
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
                        throw SharedLogError.malformed("positions")
                    }
                    for (invalidation, place) in zip(waiting[positions.count...], places) {
                        // Before it counts as published, so that it is known at each time.
                        purges?.note(invalidation.scope, at: place)
                        positions[invalidation.id] = place
                    }
                }
            } catch {
                failure = error
            }
            if let last = positions.values.max() { published = max(published, last) }
            // Also if one failed: the others need not be told again.
            if !positions.isEmpty { try await log.published(positions) }
            count += positions.count
            status.countPublished(positions.count)
            if let failure { throw failure }
            // Those that came meanwhile have their own signal.
            guard isAll else { continue }
            status.setWaiting(0)
            notePublished(additions)
            return count
        }
    }

    private func notePublished(_ additions: UInt64) {
        purges?.notePublished(additions)
        // Those of before the start are where the log has them, which was not seen yet.
        guard hasFollowed else { return }
        publishedAdditions = max(additions, publishedAdditions ?? 0)
        reaching.waiters.wakeAll()
    }

    /// Seals as many of what waits as are published in one call.
    private func seal(_ waiting: ArraySlice<SharedInvalidation>) throws -> [NewEntry] {
        var entries: [NewEntry] = []
        var byteCount = 0
        for invalidation in waiting.prefix(NewEntry.most) {
            let sealed: [UInt8]
            do {
                sealed = try seal(invalidation)
            } catch {
                // Those before it are published first.
                if entries.isEmpty { throw error }
                break
            }
            byteCount += sealed.count
            if !entries.isEmpty, byteCount > Self.publishedBytes { break }
            entries.append(NewEntry(purge: invalidation.id, sealed: sealed))
        }
        return entries
    }

    private func seal(_ invalidation: SharedInvalidation) throws -> [UInt8] {
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

    /// Tells other nodes how far this one is, and has the log confirm what was written before.
    package func confirm() async throws {
        guard let follower, let epoch = follower.epoch, follower.isFollowing, !isEnding else { return }
        let through = max(follower.cursor.position, published)
        let start = wall.now()
        // A clock that is never set, and continues while the process is stopped.
        let contact = ContinuousClock.now
        let time = EngineTime(milliseconds: start.milliseconds + offset)
        reaching.note(following: epoch.number, at: uptime())
        try await makeDurable()
        // Before others count this one: they must know of all nodes that it knows.
        try await tendNodes(in: epoch.number, at: follower)
        guard let identity else { return }
        let report = report(follower, as: identity)
        try await engine.announce(report, in: epoch.number, within: settings.timeout)
        if settings.quorum > 0 {
            let replicas = try await engine.confirm(
                replicas: settings.quorum,
                in: epoch.number,
                wait: settings.timeout,
                within: settings.timeout
            )
            guard replicas >= settings.quorum else { return giveUpStart() }
        }
        // All purges of the time before the start are in force, if the log was read to its end, and
        // other nodes wait for this one from now on.
        if status.state == .following { settings.trust?.endStart() }
        // Another epoch may have begun meanwhile, which this one says nothing about.
        guard self.follower?.epoch == epoch else { return }
        self.follower?.confirm(at: time)
        // A purge that cannot be opened may be about everything.
        if self.follower?.hold == nil { settings.trust?.extend(from: contact, by: settings.lease) }
        try await log.settle(
            through: through,
            at: start,
            forgetting: start.adding(milliseconds: -1000 * settings.settledTime)
        )
    }

    /// Has the store sync what this node has applied, unless it has.
    func makeDurable() async throws {
        guard let position = follower?.cursor.position, position != durable else { return }
        try await log.synchronize()
        durable = position
    }

    /// Removes old entries of the log, which any node may do.
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
        // One that could not be opened will not come again.
        guard follower?.hold != nil, let bounds = try await engine.bounds(within: settings.timeout),
            let reading = follower?.forgotten(before: bounds.first)
        else { return }
        try await apply(reading)
    }

    func additions() -> AsyncStream<Void> { log.additions() }

    /// Waits, by at most a fifth more or less, so that the nodes of a fleet do not act together.
    func pause(_ duration: Duration) async throws {
        try await clock.sleep(for: duration * Double.random(in: 0.8...1.2, using: &generator), tolerance: nil)
    }

    func begin() { startedAt = startedAt ?? uptime() }

    /// Lets 'cut-off' decide if the log cannot be used for long.
    private func giveUpStart() {
        if let startedAt, uptime() - startedAt >= settings.startLimit { settings.trust?.endStart() }
    }

    func fail(_ error: any Error) {
        status.countFailure("\(error)")
        disconnect(because: error)
        giveUpStart()
        failures += 1
        // One failure is not worth a line: a connection is just being made, for example.
        guard failures == Self.failuresUntilWarning else { return }
        logger.warning(
            "the shared log is unusable; this node's purges wait, and purges of other nodes arrive late",
            metadata: ["error": "\(error)", "shared.namespace": "\(settings.namespace)"]
        )
    }

    /// The connection was lost. The store's place in the log stays.
    package func disconnect(because error: any Error) {
        if case InvalidationLogError.notJoined = error { follower = nil }
        follower?.loseContact()
        purges?.follow(false)
        status.enter(.cutOff)
    }
}
