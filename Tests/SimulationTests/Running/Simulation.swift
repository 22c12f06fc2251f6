import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore

/// One run of the engine in a world that a seed decides. See ``SerialThread`` for why the same seed
/// is the same run.
final class Simulation: @unchecked Sendable {
    // Unchecked: see ``World``.

    let world: World
    let origin: SimulatedOrigin
    let store: SimulatedStore
    let engine: CacheEngine
    let steering: SimulatedOperator
    let thread: SerialThread
    let oracle: Oracle
    private var generator: SeededRandom
    private var step = 0
    private var hits = 0

    /// The violations of a run, and the amount of its work.
    struct Report: Sendable {
        var seed: UInt64
        var exchanges = 0
        var requests = 0
        var hits = 0
        var jobs = 0
        var violations: [String] = []
        /// The origins' requests and responses, in order.
        var trace: [String] = []
    }

    /// Runs a seed to its end.
    ///
    /// - Parameter exchanges: callers at least.
    static func run(seed: UInt64, exchanges: Int) async -> Report {
        var generator = SeededRandom(seed: seed, part: 1)
        let configuration = Configuration(&generator)
        let drawn = generator
        do {
            return try await SerialThread.run(
                order: configuration.order,
                generator: SeededRandom(seed: seed, part: 2),
                limit: .seconds(120)
            ) { thread in
                let simulation = Simulation(seed, configuration, drawn, thread)
                await simulation.run(exchanges: exchanges)
                return simulation.report(seed)
            }
        } catch {
            return Report(seed: seed, violations: ["the run did not end: \(error)"])
        }
    }

    private init(_ seed: UInt64, _ configuration: Configuration, _ generator: SeededRandom, _ thread: SerialThread) {
        let world = World(configuration)
        self.world = world
        self.thread = thread
        self.generator = generator
        origin = SimulatedOrigin(world, SeededRandom(seed: seed, part: 3))
        store = SimulatedStore(world, SeededRandom(seed: seed, part: 4))
        oracle = Oracle(world: world)
        let jitter = Jitter(SeededRandom(seed: seed, part: 5))
        engine = CacheEngine(
            store: store,
            transport: origin,
            policy: CachePolicy(kind: configuration.kind),
            credentialSecret: Array(repeating: 7, count: 32),
            mode: configuration.mode,
            options: configuration.options,
            parts: .init(clock: world.wall, sleeper: world.durations, jitter: { jitter.next() }),
            logger: Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        origin.engine = engine
        steering = SimulatedOperator(world, engine, store, SeededRandom(seed: seed, part: 6))
    }

    private final class Jitter: @unchecked Sendable {
        // Unchecked: see ``World``.
        private var generator: SeededRandom
        init(_ generator: SeededRandom) { self.generator = generator }
        func next() -> Double { Double(generator.next() >> 11) * 0x1p-53 }
    }

    private func report(_ seed: UInt64) -> Report {
        Report(
            seed: seed,
            exchanges: world.calls.count,
            requests: world.log.count,
            hits: hits,
            jobs: thread.jobCount,
            violations: world.violations,
            trace: world.violations.isEmpty
                ? []
                : world.log.map(\.description) + world.calls.map(\.summary)
                    + world.invalidations.map { "\($0)" }
        )
    }

    // MARK: The run

    private func run(exchanges: Int) async {
        let count = generator.int(5...20)
        for number in 0..<count {
            var resource = Resource.random(number, &generator)
            if generator.chance(0.3) { resource.location = generator.int(0...(count - 1)) }
            resource.change(at: world.now, &generator)
            world.resources.append(resource)
        }
        while world.calls.count < exchanges, world.violations.isEmpty {
            step += 1
            await settle()
            changeWorld()
            if generator.chance(0.06) {
                await herd()
            } else {
                for _ in 0..<generator.int(1...(generator.chance(0.2) ? 20 : 5)) { start(randomRequest()) }
                steering.act()
            }
            if world.configuration.shutsDownEarly, world.calls.count > exchanges * 3 / 4 { break }
        }
        await end()
    }

    /// All tasks run as far as they can; then time passes.
    private func settle() async {
        await quiesce()
        if generator.chance(0.7) {
            let milliseconds = generator.chance(0.5) ? generator.int(1...900) : generator.int(1000...20_000)
            world.advance(by: .milliseconds(milliseconds))
            await quiesce()
        }
        if world.configuration.setsClockBack, generator.chance(0.05) {
            world.wall.advance(by: .seconds(-generator.int(1...30)))
        }
        if generator.chance(0.1) { checkStore() }
    }

    private func quiesce() async {
        await thread.quiesce()
        world.quiescentTick = world.nextTick()
        origin.offlineVersion = engine.mode == .offline ? engine.settingsVersion : nil
        steering.checkEnd()
    }

    private func changeWorld() {
        if generator.chance(0.06) {
            let host = generator.pick(["a.example", "b.example"])
            if world.unreachable.remove(host) == nil, world.configuration.originFaults > 0 {
                world.unreachable.insert(host)
            }
        }
        if generator.chance(0.1) {
            world.resources[generator.int(0...(world.resources.count - 1))].change(at: world.now, &generator)
        }
    }

    /// Waits for all calls, shuts the engine down, and checks that nothing is left.
    private func end() async {
        await quiesce()
        if !world.configuration.shutsDownEarly {
            var rounds = 0
            while world.calls.contains(where: { !$0.isEnded }), rounds < 400 {
                rounds += 1
                world.advance(by: .seconds(5))
                await quiesce()
            }
        }
        world.isShutDown = true
        await steering.rest()
        let isDown = Flag()
        let engine = engine
        Task {
            await engine.shutDown()
            isDown.isSet = true
        }
        await quiesce()
        if !isDown.isSet { world.violations.append("shutDown does not end") }
        // Readers that take their time.
        for _ in 0..<200 where world.calls.contains(where: { !$0.isEnded }) {
            world.advance(by: .seconds(5))
            await quiesce()
        }
        for call in world.calls where !call.isEnded { world.report(call, "never ended") }
        for call in world.calls { call.response = nil }
        await quiesce()
        if engine.inFlightFetchCount != 0 {
            world.violations.append("\(engine.inFlightFetchCount) in-flight fetches after shutDown")
        }
        if world.durations.sleeperCount != 0 {
            world.violations.append("\(world.durations.sleeperCount) sleepers after shutDown")
        }
        for (host, count) in origin.waiting where count != 0 {
            world.violations.append("\(count) requests open at \(host)")
        }
        if origin.openBodies != 0 { world.violations.append("\(origin.openBodies) bodies open at the origins") }
        world.isCalm = true
        checkStore()
        await checkBodies()
    }

    final class Flag: @unchecked Sendable {
        // Unchecked: see ``World``.
        var isSet = false
    }

    // MARK: Callers

    /// Starts a new caller.
    @discardableResult
    func start(_ request: (CacheRequest, Int), readsWhole: Bool = false) -> Call {
        var (request, resource) = request
        let number = world.calls.count
        request.head.headerFields[.call] = "\(number)"
        let isReadingWhole = readsWhole || generator.chance(0.85)
        let call = Call(
            number: number,
            step: step,
            request: request,
            resource: resource,
            isReadingWhole: isReadingWhole,
            mode: engine.mode,
            quiescentTick: world.quiescentTick
        )
        world.calls.append(call)
        let delay = readsWhole ? 0 : generator.int(0...3)
        let pauses = !readsWhole && generator.chance(0.1)
        let chunks = isReadingWhole ? Int.max : generator.int(0...2)
        call.task = Task { [self] in
            for _ in 0..<delay { await SerialThread.yield() }
            await perform(call, chunks: chunks, pauses: pauses)
            call.isEnded = true
            if call.isReadingWhole || call.error != nil { oracle.judge(call) }
            call.summary = world.describe(call) + " ticks \(call.begunTick)-\(call.respondedTick)"
            // The call is kept for the log of the run, without its body, which holds memory and
            // fetches.
            call.response?.body = .empty
            call.body = ByteBuffer()
            call.storedAtBeginning = []
        }
        if !readsWhole, generator.chance(0.06) {
            let hops = generator.int(0...40)
            Task {
                for _ in 0..<hops { await SerialThread.yield() }
                if !call.isEnded {
                    call.isCancelled = true
                    call.task?.cancel()
                }
            }
        }
        return call
    }

    private func perform(_ call: Call, chunks: Int, pauses: Bool) async {
        if let key = engine.key(for: call.request) {
            let keys = [key, key.inPartition(.common)]
            for key in keys[..<(keys[0] == keys[1] ? 1 : 2)] {
                call.storedAtBeginning += store.base.resident(key) ?? []
            }
        }
        call.begunTick = world.nextTick()
        call.begunAt = world.now
        guard let prepared = engine.prepare(call.request) else {
            return world.report(call, "has no target")
        }
        call.mode = prepared.mode
        let mode = steering.mode(for: world.resources[call.resource].host)
        if call.mode != mode { world.report(call, "began in another mode than \(mode), which is in force") }
        call.extendedStaleness = prepared.policy.extendedStaleness * 1000
        if call.extendedStaleness != steering.extendedStaleness * 1000 {
            world.report(call, "began with another extension of staleness than the one in force")
        }
        do {
            let response = try await engine.respond(to: prepared)
            call.respondedTick = world.nextTick()
            call.response = response
            if response.source == .store { hits += 1 }
        } catch {
            call.respondedTick = world.nextTick()
            call.error = error
            return
        }
        guard let body = call.response?.body else { return }
        var left = chunks
        do {
            for try await chunk in body {
                left -= 1
                if left < 0 { return }
                call.body.writeImmutableBuffer(chunk)
                if pauses { try await world.durations.sleep(for: .milliseconds(700)) }
            }
            call.hasWholeBody = true
        } catch {
            call.bodyError = error
        }
    }

    private func randomRequest() -> (CacheRequest, Int) {
        let number =
            generator.chance(0.5)
            ? generator.int(0...min(2, world.resources.count - 1)) : generator.int(0...(world.resources.count - 1))
        let resource = world.resources[number]
        var head = HTTPRequest(method: .get, scheme: "https", authority: resource.host, path: resource.path)
        var principal: String?
        switch generator.int(0...9) {
        case 0, 1: head.headerFields[.authorization] = "Bearer \(generator.pick(["t1", "t2"]))"
        case 2: head.headerFields[.cookie] = "sid=\(generator.int(1...2))"
        case 3:
            principal = "alice"
            head.headerFields[.authorization] = "Bearer alice"
        default: break
        }
        if generator.chance(0.6) { head.headerFields[.acceptLanguage] = generator.pick(["en", "de", "EN"]) }
        var request = CacheRequest(head: head, principal: principal)
        if generator.chance(0.04) {
            request.head.method = generator.pick([.post, .put, .delete])
            return (request, number)
        }
        if generator.chance(0.05) { request.head.method = .head }
        addWishes(&request, resource)
        return (request, number)
    }

    private func addWishes(_ request: inout CacheRequest, _ resource: Resource) {
        if generator.chance(0.12) {
            request.head.headerFields[.cacheControl] = generator.pick([
                "no-cache", "no-store", "max-age=0", "max-age=10", "max-stale", "max-stale=15", "min-fresh=10",
                "only-if-cached", "stale-if-error=60", "max-stale=30, max-age=100",
            ])
        }
        if generator.chance(0.12) {
            let length = resource.length
            request.head.headerFields[.range] = generator.pick([
                "bytes=0-99", "bytes=-50", "bytes=\(length / 2)-", "bytes=0-", "bytes=\(length)-", "bytes=5-5,10-20",
                "bytes=\(length / 4)-\(length / 2)",
            ])
        }
        let representation = resource.representation(for: request.head.headerFields)
        if generator.chance(0.08) {
            request.head.headerFields[.ifNoneMatch] =
                generator.pick([resource.entityTag(representation), "\"old\"", "*", "\"x\", \"y\""]) ?? "\"none\""
        } else if generator.chance(0.04), let modified = resource.lastModified {
            request.head.headerFields[.ifModifiedSince] = world.text(modified)
        }
        if generator.chance(0.2) {
            request.preference = generator.pick([.storedFirst, .storedOnly, .networkFirst, .networkOnly])
        }
        if generator.chance(0.06) {
            request.storage = generator.pick([.never, .expiring(.after(.seconds(30))), .expiring(.after(.seconds(5)))])
        }
    }

    // MARK: Collapsing

    /// Many calls request the same target at once, and nothing is stored: one request reaches the
    /// origin.
    private func herd() async {
        guard engine.mode == .automatic || engine.mode == .online, world.unreachable.isEmpty,
            world.options.waitingLimit > 100
        else { return }
        let number = world.resources.count
        var resource = Resource.random(number, &generator)
        resource.isPersonal = false
        resource.varies = false
        resource.path = "/herd/\(number)"
        resource.change(at: world.now, &generator)
        resource.cacheControl = generator.pick(["max-age=60", "public, max-age=30", "s-maxage=30, max-age=5"])
        (resource.targeted, resource.expires, resource.age) = (nil, nil, nil)
        (resource.setsCookie, resource.announcesLength, resource.status) = (false, true, 200)
        world.resources.append(resource)
        let gate = Gate()
        world.held[number] = gate
        world.isCalm = true
        let head = HTTPRequest(method: .get, scheme: "https", authority: resource.host, path: resource.path)
        let calls = (0..<generator.int(2...20)).map { _ in start((CacheRequest(head: head), number), readsWhole: true) }
        await quiesce()
        let before = world.log.count { $0.resource == number }
        if before > 1 { world.report(calls[0], "\(before) requests of \(calls.count) reached the origin at once") }
        gate.open()
        await quiesce()
        // The origin may have been busy, or treated as unreachable.
        for _ in 0..<60 where calls.contains(where: { !$0.isEnded }) {
            world.advance(by: .seconds(1))
            await quiesce()
        }
        let served = calls.filter { $0.response != nil }
        let after = world.log.count { $0.resource == number }
        // A `no-cache` response is for its own caller alone. RFC 9111 §4
        let isForAll = !served.contains { call in
            let fields = call.response?.head.headerFields ?? [:]
            return [fields[.cacheControl], fields[.targeted]].contains { $0?.lowercased().contains("no-cache") == true }
        }
        if !served.isEmpty, isForAll, after != 1 {
            world.report(calls[0], "\(after) requests for a group of \(calls.count)")
        }
        world.isCalm = false
        world.held[number] = nil
    }
}
