package import HTTPCache
package import HTTPCacheSemantics
package import Logging
import NIOCore
import Synchronization

/// Shares stored responses with the other nodes of a fleet.
///
/// Each value has a fencing position: the position up to which its node had applied the purges of
/// the fleet log before it contacted the origin. A reader compares that position with the purges
/// that it knows. So correctness depends neither on clocks nor on when, or whether, a value
/// arrives.
package final class ResponseSharing: FleetResponses {
    package struct Settings: Sendable {
        /// The time limit for one call to the server. 50 ms by default.
        package var timeout = Duration.milliseconds(50)
        /// The maximum length of a body, in bytes. 8 MiB by default.
        package var largestBody = 8 << 20
        /// The maximum lifetime of a value. 24 h by default, one hour less than the time for which
        /// the log keeps entries.
        package var longest = Duration.seconds(24 * 3600)
        /// The time that a node waits for another node's fetch from the origin. 1 s by default;
        /// zero turns off waiting and leases.
        package var wait = Duration.seconds(1)
        /// The duration of a lease, unless it is renewed. 10 s by default.
        package var lease = Duration.seconds(10)

        package init() {}
    }

    /// The maximum number of waiting offers. When the queue is full, a new offer replaces the
    /// oldest.
    static let offerLimit = 1024
    /// The time for which other nodes do not wait for a key whose response cannot be shared.
    static let passTime = Duration.seconds(5)
    /// The maximum time for which a lease is renewed.
    static let renewalLimit = Duration.seconds(60)

    let values: any FleetValues
    let purges: PurgeView
    private let namespace: FleetNamespace
    private let sealing: Mutex<Sealing>
    let settings: Settings
    let store: any ResponseStore
    let clock: any Clock<Duration>
    let wall: any WallClock
    let logger: Logger
    package let counts = FleetValueCounts()
    private let log: any InvalidationLog
    private let breaker = ValueBreaker()
    private let unshared = KeysOutsideFleet()
    private let offers: (stream: AsyncStream<FleetOffer>, continuation: AsyncStream<FleetOffer>.Continuation)
    private let orders: (stream: AsyncStream<LeaseOrder>, continuation: AsyncStream<LeaseOrder>.Continuation)
    let leases = HeldLeases()

    package init(
        values: any FleetValues,
        purges: PurgeView,
        log: any InvalidationLog,
        store: any ResponseStore,
        keys: FleetKeys,
        namespace: FleetNamespace,
        settings: Settings = Settings(),
        clock: any Clock<Duration> = ContinuousClock(),
        wall: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast.fleet")
    ) {
        self.values = values
        self.purges = purges
        self.log = log
        self.store = store
        self.namespace = namespace
        sealing = Mutex(Sealing(keys, namespace, settings))
        self.settings = settings
        self.clock = clock
        self.wall = wall
        self.logger = logger
        offers = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.offerLimit))
        orders = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(4 * Self.offerLimit))
    }

    /// Puts offered responses and renews leases until the task is canceled. Call it once.
    package func run() async {
        await withTaskGroup { group in
            group.addTask { for await offer in self.offers.stream { await self.put(offer) } }
            group.addTask { for await order in self.orders.stream { await self.perform(order) } }
            group.addTask { await self.renewLeases() }
        }
    }

    // MARK: Secrets

    /// Everything that depends on the fleet's secrets.
    private struct Sealing {
        let keys: FleetKeys
        let namer: ValueNamer
        let sealer: EnvelopeSealer

        init(_ keys: FleetKeys, _ namespace: FleetNamespace, _ settings: Settings) {
            self.keys = keys
            namer = ValueNamer(keys: keys, namespace: namespace)
            sealer = EnvelopeSealer(keys: keys, largestBody: settings.largestBody)
        }
    }

    var keys: FleetKeys { sealing.withLock { $0.keys } }
    var namer: ValueNamer { sealing.withLock { $0.namer } }
    var sealer: EnvelopeSealer { sealing.withLock { $0.sealer } }

    /// Seals, opens and names values with other keys from now on.
    package func replaceKeys(with keys: FleetKeys) {
        let new = Sealing(keys, namespace, settings)
        sealing.withLock { $0 = new }
    }

    // MARK: FleetResponses

    package var isFollowing: Bool { purges.isFollowing }

    package var position: LogPosition? { purges.position }

    package func mayHave(_ key: StoreKey) -> Bool { !unshared.contains(key, at: wall.now()) }

    package func find(_ query: PeerQuery) async -> PeerLookupResult {
        guard purges.isFollowing, breaker.admits(at: wall.now()) else {
            counts.count(.away)
            return .nothing(nil)
        }
        let names = namer.names(of: query.key)
        do {
            let found = try await lookUp(
                query,
                names,
                in: try await values.values([names.envelope], within: settings.timeout)[0]
            )
            breaker.succeeded()
            if let found {
                counts.count(.hit)
                return .found(found)
            }
            counts.count(.miss)
            return try await lead(query, names)
        } catch {
            note(error, query.key)
            return .nothing(nil)
        }
    }

    package func offer(_ offer: FleetOffer) {
        guard offer.response.bodyLength <= Int64(settings.largestBody), offer.draft.freshUntil > wall.now() else {
            return release(offer.lease, of: offer.draft.key, isForOthers: false)
        }
        if case .dropped(let oldest) = offers.continuation.yield(offer) {
            counts.count(.dropped)
            if let lease = oldest.lease { release(lease, of: lease.key, isForOthers: true) }
        }
    }

    package func release(_ lease: FleetLease?, of key: StoreKey, isForOthers: Bool) {
        let held = lease.flatMap { leases.remove($0.number) }
        if isForOthers {
            if let held { orders.continuation.yield(.release(held)) }
        } else {
            unshared.insert(key, at: wall.now())
            if held != nil { orders.continuation.yield(.pass(namer.names(of: key).lease)) }
        }
    }

    package func withdraw(_ response: StoredResponse, selectedBy names: [String]) {
        let values = namer.names(of: response.key)
        let name = names.isEmpty ? values.envelope : values.variant(names, response.head.selectingFields)
        orders.continuation.yield(.remove(name))
    }

    // MARK: Peer lookups

    /// Opens a value and decides whether it is current.
    ///
    /// - Parameter value: the value under the key's envelope name; `nil` if there is none.
    /// - Returns: `nil` if the value cannot be used.
    func lookUp(_ query: PeerQuery, _ names: ValueNames, in value: ByteBuffer?) async throws -> PeerResponse? {
        guard let value, let content = open(value, as: names.envelope, for: query.key) else { return nil }
        switch content {
        case .response(let envelope): return try await judge(envelope, query, names)
        case .varyList(let list):
            let variants = list.lists.map { names.variant($0, query.selecting($0)) }
            let found = try await values.values(variants, within: settings.timeout)
            var best: PeerResponse?
            for (name, value) in zip(variants, found) {
                guard let value, case .response(let envelope)? = open(value, as: name, for: query.key),
                    let response = try await judge(envelope, query, names),
                    best.map({ $0.draft.head.responseTime < response.draft.head.responseTime }) ?? true
                else { continue }
                best = response
            }
            return best
        }
    }

    private func open(_ value: ByteBuffer, as name: ValueName, for key: StoreKey) -> FleetContent? {
        do {
            return try sealer.open(value, as: name, for: key)
        } catch {
            counts.count(.poisoned)
            logger.debug("cannot open a fleet value", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private func judge(
        _ envelope: ResponseEnvelope,
        _ query: PeerQuery,
        _ names: ValueNames
    ) async throws -> PeerResponse? {
        let draft = envelope.draft(at: wall.now(), purges.offset)
        guard query.accepts(draft) else { return nil }
        // Check the waiting purges first: a purge that is published in the meantime becomes known
        // before it stops waiting.
        guard try await !isPurgedUnpublished(draft),
            purges.isCurrent(draft.key, tags: draft.tags, fencingPosition: envelope.fencingPosition)
        else {
            counts.count(.old)
            return nil
        }
        return PeerResponse(draft: draft, body: body(of: envelope, names))
    }

    /// Returns whether an unpublished purge of this node affects a response.
    private func isPurgedUnpublished(_ draft: ResponseDraft) async throws -> Bool {
        guard purges.mayWait(log) else { return false }
        let limit = LogBatch.mostEntries
        let additions = log.additionCount
        let waiting = try await log.unpublished(limit: limit)
        if waiting.isEmpty { purges.notePublished(additions) }
        return waiting.count == limit || waiting.contains { $0.scope.covers(draft.key, tags: draft.tags) }
    }

    private func body(of envelope: ResponseEnvelope, _ names: ValueNames) -> BodyStream {
        switch envelope.body {
        case .inline(let bytes): return BodyStream(bytes)
        case .chunks(let chunked):
            let (values, keys, timeout, counts) = (values, keys, settings.timeout, counts)
            return BodyStream(length: StatedLength(clamping: chunked.length)) {
                var opener = ChunkOpener(keys: keys, names: names, body: chunked)
                var ready: [ByteBuffer] = []
                return {
                    if ready.isEmpty {
                        let next = opener.nextNames
                        if next.isEmpty {
                            try opener.finish()
                            return nil
                        }
                        for sealed in try await values.chunks(next, within: timeout) {
                            guard let sealed else {
                                counts.count(.incomplete)
                                throw FleetLogError.malformed("a body without one of its chunks")
                            }
                            ready.append(try opener.open(sealed))
                        }
                        ready.reverse()
                    }
                    return ready.removeLast()
                }
            }
        }
    }

    private func note(_ error: any Error, _ key: StoreKey) {
        switch error {
        case FleetLogError.timedOut:
            counts.count(.timedOut)
            breaker.failed(key.hashValue, at: wall.now())
        default:
            counts.count(.away)
            breaker.failed(nil, at: wall.now())
        }
        logger.debug("peer lookups fail", metadata: ["error": "\(error)"])
    }

    // MARK: Leases

    /// Reads a value and its lease.
    ///
    /// - Parameter isLast: whether a timeout is an error. A single timeout usually means that a
    ///   machine is busy, while the other node's fetch continues.
    /// - Returns: `nil` after a timeout that is not an error.
    private func readLease(at names: ValueNames, isLast: Bool) async throws -> LeaseReading? {
        do {
            return try await values.readValue(at: names.envelope, lease: names.lease, within: settings.timeout)
        } catch {
            guard error == .timedOut, !isLast else { throw error }
            counts.count(.timedOut)
            return nil
        }
    }

    /// Takes the lease of a key, or waits for the node that holds it.
    private func lead(_ query: PeerQuery, _ names: ValueNames) async throws -> PeerLookupResult {
        guard settings.wait > .zero else { return .nothing(nil) }
        var generator = SystemRandomNumberGenerator()
        let lease = FetchLease(name: names.lease, token: LeaseToken(using: &generator))
        var waited = Duration.zero
        var pause = Duration.milliseconds(5)
        let patience = min(settings.wait, query.patience ?? settings.wait)
        var hasTimedOut = false
        while true {
            switch try await values.lead(lease, for: settings.lease, within: settings.timeout) {
            case .led:
                counts.count(.led)
                return .nothing(FleetLease(key: query.key, number: leases.insert(lease, at: wall.now())))
            case .pass:
                counts.count(.passed)
                return .nothing(nil)
            case .held: break
            }
            repeat {
                guard waited < patience else {
                    counts.count(.expired)
                    return .nothing(nil)
                }
                let turn = min(pause * Double.random(in: 0.8...1.2), patience - waited)
                try await clock.sleep(for: turn, tolerance: nil)
                waited += turn
                pause = min(pause * 2, .milliseconds(50))
                guard let seen = try await readLease(at: names, isLast: hasTimedOut) else {
                    hasTimedOut = true
                    waited += settings.timeout
                    continue
                }
                hasTimedOut = false
                if let found = try await lookUp(query, names, in: seen.value) {
                    counts.count(.waited)
                    return .found(found)
                }
                if seen.lease == .pass {
                    counts.count(.passed)
                    return .nothing(nil)
                }
                if seen.lease == .free { break }
            } while true
        }
    }
}
