import HoldfastTesting
import Testing

@testable import HTTPCache

/// The permits of an origin and the next waiter, as a value without an engine. docs/decisions/0025
@Suite(.timeLimit(.minutes(20))) struct OriginPermitsTests {
    private let one = RequestClient("192.0.2.1")
    private let other = RequestClient("192.0.2.2")

    @Test func singleClientLeavesAQuarterToOthers() {
        var permits = OriginPermits()
        let entered = (0..<256).count { _ in permits.enterIfFree(one, limit: 256) }
        #expect(entered == 192)
        let others = (0..<256).count { _ in permits.enterIfFree(other, limit: 256) }
        #expect(others == 64)
        #expect(permits.count == 256)
    }

    @Test func requestsWithoutClientMayTakeAllPermits() {
        var permits = OriginPermits()
        let entered = (0..<300).count { _ in permits.enterIfFree(.none, limit: 256) }
        #expect(entered == 256)
    }

    /// Mutant: `waiters-take-no-turns`.
    @Test func clientWithAQuarterWaitsBehindOthers() {
        var permits = OriginPermits()
        for _ in 0..<9 { _ = permits.enterIfFree(.none, limit: 12) }
        for _ in 0..<3 { _ = permits.enterIfFree(one, limit: 12) }
        let waits = (0..<3).map { permits.enter($0, one, limit: 12, waitingLimit: 100) }
        let last = permits.enter(3, other, limit: 12, waitingLimit: 100)
        #expect(waits + [last] == Array(repeating: .waits, count: 4))
        let first = permits.leave(.none, limit: 12)
        #expect(first == [3])
        // No other client waits now, but it may not have the last permits.
        let second = permits.leave(.none, limit: 12)
        #expect(second == [])
        let third = permits.leave(one, limit: 12)
        #expect(third == [0])
    }

    @Test func waitingClientsTakeTurns() {
        var permits = OriginPermits()
        for _ in 0..<4 { _ = permits.enterIfFree(.none, limit: 4) }
        for id in 0..<10 as Range<UInt64> { _ = permits.enter(id, one, limit: 4, waitingLimit: 100) }
        for id in 10..<13 as Range<UInt64> { _ = permits.enter(id, other, limit: 4, waitingLimit: 100) }
        var order: [UInt64] = []
        var held = [RequestClient.none, .none, .none, .none]
        while let client = held.popLast() {
            for id in permits.leave(client, limit: 4) {
                order.append(id)
                held.insert(id < 10 ? one : other, at: 0)
            }
        }
        #expect(order == [0, 10, 1, 11, 2, 12, 3, 4, 5, 6, 7, 8, 9])
        #expect(permits.isEmpty)
    }

    @Test func waitingClientLeavesRoomToWait() {
        var permits = OriginPermits()
        _ = permits.enterIfFree(.none, limit: 1)
        let waits = (0..<100).count { permits.enter($0, one, limit: 1, waitingLimit: 100) == .waits }
        #expect(waits == 75)
        let others = (100..<200).count { permits.enter($0, other, limit: 1, waitingLimit: 100) == .waits }
        #expect(others == 25)
    }

    @Test func raisedLimitAdmitsWaiters() {
        var permits = OriginPermits()
        _ = permits.enterIfFree(one, limit: 1)
        for id in 0..<4 as Range<UInt64> { _ = permits.enter(id, one, limit: 1, waitingLimit: 9) }
        let admitted = permits.admit(limit: 3)
        #expect(admitted == [0, 1])
    }

    /// Random clients enter, wait, give up and leave, next to a model that knows the holder of each
    /// permit.
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func noPermitIsLostAndNoClientStarves(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        var limit = [1, 2, 3, 4, 8, 30, 64][pick(7)]
        let waitingLimit = [0, 5, 40, 200][pick(4)]
        // Some are greedy: they hardly ever give a permit back.
        let clients = [RequestClient.none] + (0..<pick(40) + 1).map { RequestClient("client \($0)") }
        let greedy = Set(clients.dropFirst().prefix(pick(3)))
        var permits = OriginPermits()
        var held: [RequestClient] = []
        var waiting: [(id: UInt64, client: RequestClient, since: Int)] = []
        var next: UInt64 = 0
        var lowered = false

        func admit(_ ids: [UInt64], _ step: Int) {
            for id in ids {
                guard let index = waiting.firstIndex(where: { $0.id == id }) else {
                    Issue.record("seed \(seed): \(id) does not wait")
                    continue
                }
                let client = waiting.remove(at: index).client
                let quarter = max(1, limit / 4)
                if client != .none, held.count(where: { $0 == client }) >= quarter {
                    // It is over its share: then no client below its share waits.
                    let others = waiting.filter { waiter in
                        waiter.client == .none || held.count { $0 == waiter.client } < quarter
                    }
                    #expect(others.isEmpty, "seed \(seed), step \(step): one over its quarter came first")
                }
                held.append(client)
            }
        }
        for step in 0..<3000 {
            switch pick(20) {
            case 0...9:
                let client = clients[pick(clients.count)]
                switch permits.enter(next, client, limit: limit, waitingLimit: waitingLimit) {
                case .entered: held.append(client)
                case .waits: waiting.append((next, client, step))
                case .full: break
                }
                next += 1
            case 10...16:
                let candidates = held.indices.filter { !greedy.contains(held[$0]) || pick(50) == 0 }
                guard !candidates.isEmpty else { continue }
                let client = held.remove(at: candidates[pick(candidates.count)])
                admit(permits.leave(client, limit: limit), step)
            case 17, 18:
                guard !waiting.isEmpty else { continue }
                let waiter = waiting.remove(at: pick(waiting.count))
                let waited = permits.giveUp(waiter.id)
                #expect(waited, "seed \(seed), step \(step)")
            default:
                guard step % 100 == 0 else { continue }
                let old = limit
                limit = max(1, limit + pick(5) - 2)
                lowered = lowered || limit < old
                admit(permits.admit(limit: limit), step)
            }
            #expect(permits.count == held.count && permits.waitingCount == waiting.count, "seed \(seed), step \(step)")
            if !lowered { #expect(held.count <= limit, "seed \(seed), step \(step)") }
            // No client waits for a permit that it could have.
            let couldEnter = waiting.contains { waiter in
                let holding = held.count { $0 == waiter.client }
                let isOver = waiter.client != .none && holding >= max(1, limit / 4)
                return held.count < limit && (!isOver || limit - held.count > limit / 4)
            }
            #expect(!couldEnter, "seed \(seed), step \(step): a permit is free, and one waits for it")
        }
        // All leave, so every waiter gets its turn.
        while !held.isEmpty { admit(permits.leave(held.removeFirst(), limit: limit), -1) }
        #expect(waiting.isEmpty, "seed \(seed)")
        #expect(permits.isEmpty)
    }
}
