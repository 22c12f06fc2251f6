import HTTPCache
import HTTPCacheSemantics

/// How many invalidations are looked at while they come into force.
private let purgesUnderWatch = 300

extension InvalidationLogContract {
    static let journaling: [Rule] = [
        Rule("A store journals nothing before it joins a log.") { bench in
            try await bench.invalidate(.tag("t"))
            let place = try await bench.join()
            bench.findings.equal(place.cursor, LogCursor(), "the place")
            bench.findings.equal(place.unpublished, 0, "what waits after joining")
            bench.findings.equal(try await bench.waiting().count, 0, "the journal after joining")
        },
        Rule("Invalidations that a caller requests wait to be published, in the order of the requests.") {
            bench in
            try await bench.join()
            let scopes = try bench.scopes()
            for (index, scope) in scopes.enumerated() { try await bench.invalidate(scope, soft: index % 2 == 0) }
            let waiting = try await bench.waiting()
            bench.findings.equal(waiting.map(\.scope), scopes, "the scopes")
            let effects = scopes.indices.map { $0 % 2 == 0 ? InvalidationEffect.mark(.unspecified) : .remove }
            bench.findings.equal(waiting.map(\.effect), effects, "the effects")
            bench.findings.equal(Set(waiting.map(\.id)).count, scopes.count, "different names")
            bench.findings.expect(waiting.allSatisfy { $0.issuedAt == InvalidationLogBench.now }, "another instant")
            bench.findings.equal(try await bench.log.unpublished(limit: 2).map(\.scope), Array(scopes.prefix(2)), "two")
        },
        Rule("A response that is withdrawn here is not announced to other nodes.") { bench in
            try await bench.join()
            let key = try bench.stores.key("/wrong")
            try await bench.put(key)
            let before = bench.log.current
            for response in try await bench.pair.store.lookup(key) { try await bench.pair.store.withdraw(response) }
            bench.findings.equal(try await bench.mark(key), nil, "the response")
            bench.findings.equal(try await bench.waiting().count, 0, "what waits")
            bench.findings.equal(bench.log.current, before, "the number of the last invalidation")
        },
        Rule("An invalidation is counted as journaled before its number is seen.") { bench in
            try await bench.join()
            let (number, count) = (bench.log.current.number, bench.log.additionCount)
            let late = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    var late = 0
                    while !Task.isCancelled {
                        // In this order.
                        let seen = bench.log.current.number - number
                        if bench.log.additionCount - count < UInt64(seen) { late += 1 }
                        await Task.yield()
                    }
                    return late
                }
                for _ in 0..<purgesUnderWatch { try await bench.invalidate(.tag("t")) }
                group.cancelAll()
                return try await group.next() ?? 0
            }
            bench.findings.equal(late, 0, "how often one was seen before it was counted")
        },
        Rule("The reason for an invalidation by an unsafe method is kept.") { bench in
            try await bench.join()
            let key = try bench.stores.key("/changed")
            _ = try await bench.pair.store.invalidate(.key(key), .mark(.unsafeMethod), at: InvalidationLogBench.now)
            bench.findings.equal(try await bench.waiting().map(\.effect), [.mark(.unsafeMethod)], "the effect")
        },
        Rule("A store that joins a log with another name forgets its journal and its place, and keeps its own name.") {
            bench in
            let first = try await bench.join("one")
            try await bench.invalidate(.all)
            try await bench.log.append([], through: bench.cursor(3), at: InvalidationLogBench.now)
            let again = try await bench.join("one")
            bench.findings.equal(again.cursor, bench.cursor(3), "the place in the same log")
            bench.findings.equal(again.unpublished, 1, "what waits for the same log")
            let other = try await bench.join("two")
            bench.findings.equal(other.node, first.node, "the store's name")
            bench.findings.equal(other.cursor, LogCursor(), "the place in the other log")
            bench.findings.equal(other.unpublished, 0, "what waits for the other log")
        },
        Rule("A store's own name and its notes survive a restart, and a new name permanently replaces the old one.") {
            bench in
            let first = try await bench.join()
            bench.findings.equal(first.notes, [], "the notes at first")
            let notes = Array("one line\nanother\n".utf8)
            try await bench.log.remember(notes)
            let again = try await bench.join()
            bench.findings.equal(again.node, first.node, "the store's name")
            bench.findings.equal(again.notes, notes, "the notes")
            let renewed = try await bench.log.renewNode()
            bench.findings.expect(renewed != first.node, "the new name is the old one")
            let last = try await bench.join()
            bench.findings.equal(last.node, renewed, "the name after it was renewed")
            bench.findings.equal(last.notes, notes, "the notes after it was renewed")
            try await bench.log.remember([])
            bench.findings.equal(try await bench.join().notes, [], "the notes after others replaced them")
            guard let reopen = bench.reopen else { return }
            let reopened = try await reopen(bench.pair)
            bench.findings.equal(
                try await reopened.log.join("shop", at: InvalidationLogBench.now).node,
                renewed,
                "the name"
            )
        },
        Rule("A store that has not joined accepts no step.") { bench in
            do {
                try await bench.log.append([.distrust], through: bench.cursor(1), at: InvalidationLogBench.now)
                bench.findings.add("it accepted a step")
            } catch InvalidationLogError.notJoined {}
        },
        Rule("A store that has not joined does not report that nothing is waiting.") { bench in
            do {
                _ = try await bench.waiting()
                bench.findings.add("it says so")
            } catch InvalidationLogError.notJoined {}
        },
    ]

    static let applying: [Rule] = [
        Rule("An invalidation of another node is in force as soon as it is accepted, whatever its scope.") { bench in
            try await bench.join()
            for (number, scope) in try bench.scopes().enumerated() {
                let key = try bench.stores.key("/a/\(number)")
                try await bench.put(key, tags: ["t"])
                let before = bench.log.current
                let step = LogStep.apply(bench.foreign(scope.about(key)), bench.place(UInt64(number + 2)))
                let fresh = try await bench.log.append(
                    [step],
                    through: bench.cursor(UInt64(number + 2)),
                    at: InvalidationLogBench.now
                )
                bench.findings.equal(fresh, 1, "new invalidations by \(scope)")
                bench.findings.expect(bench.log.current > before, "\(scope) has no number here")
                bench.findings.equal(try await bench.mark(key), true, "the mark by \(scope)")
            }
        },
        Rule("A removal by another node removes.") { bench in
            try await bench.join()
            let key = try bench.stores.key("/removed")
            try await bench.put(key)
            let step = LogStep.apply(bench.foreign(.key(key), .remove), bench.place(2))
            try await bench.log.append([step], through: bench.cursor(2), at: InvalidationLogBench.now)
            bench.findings.equal(try await bench.mark(key), nil, "the response")
        },
        Rule("A known invalidation moves its position and is not applied again.") { bench in
            try await bench.join()
            let key = try bench.stores.key("/once")
            let foreign = bench.foreign(.key(key))
            try await bench.log.append(
                [.apply(foreign, bench.place(2))],
                through: bench.cursor(2),
                at: InvalidationLogBench.now
            )
            try await bench.put(key)
            let fresh = try await bench.log.append(
                [.apply(foreign, bench.place(2, in: 9))],
                through: bench.cursor(2, in: 9),
                at: InvalidationLogBench.now
            )
            bench.findings.equal(fresh, 0, "new invalidations")
            bench.findings.equal(try await bench.mark(key), false, "the mark of what was stored after it")
            bench.findings.equal(
                try await bench.log.since(bench.place(9), limit: 9).map(\.id),
                [foreign.id],
                "its place"
            )
        },
        Rule("A fetch that began before an invalidation of another node is not stored.") { bench in
            try await bench.join()
            let key = try bench.stores.key("/fill")
            let fence = bench.pair.store.invalidationSequence
            let writer = try await bench.stores.begin(bench.stores.draft(key), fence)
            try await writer.append(bench.stores.body("early"))
            let step = LogStep.apply(bench.foreign(.key(key)), bench.place(2))
            try await bench.log.append([step], through: bench.cursor(2), at: InvalidationLogBench.now)
            bench.findings.expect(try await writer.finish() == nil, "it was stored")
        },
        Rule("A distrust marks every stored response and removes none.") { bench in
            try await bench.join()
            let keys = try (0..<3).map { try bench.stores.key("/\($0)") }
            for key in keys { try await bench.put(key) }
            try await bench.log.append([.distrust], through: bench.cursor(5), at: InvalidationLogBench.now)
            for key in keys { bench.findings.equal(try await bench.mark(key), true, "the mark") }
            bench.findings.equal(try await bench.waiting().count, 0, "what waits: other nodes need not hear of it")
        },
    ]

    static let publishing: [Rule] = [
        Rule("An invalidation with a position no longer waits, and of two positions the later one counts.") { bench in
            try await bench.join()
            try await bench.invalidate(.tag("a"))
            try await bench.invalidate(.tag("b"))
            let waiting = try await bench.waiting()
            try await bench.log.published([waiting[0].id: bench.place(7)])
            bench.findings.equal(try await bench.waiting().map(\.id), [waiting[1].id], "what waits")
            try await bench.log.published([waiting[0].id: bench.place(3), waiting[1].id: bench.place(5)])
            bench.findings.equal(
                try await bench.log.since(.zero, limit: 9).map(\.id),
                [waiting[1].id, waiting[0].id],
                "their order"
            )
            bench.findings.equal(
                try await bench.log.since(bench.place(5), limit: 9).map(\.id),
                [waiting[0].id],
                "behind"
            )
        },
        Rule("An own invalidation that comes back from the log no longer waits, and is not applied again.") {
            bench in
            try await bench.join()
            let key = try bench.stores.key("/own")
            try await bench.invalidate(.key(key))
            try await bench.put(key)
            let own = try await bench.waiting()[0]
            let fresh = try await bench.log.append(
                [.apply(own, bench.place(2))],
                through: bench.cursor(2),
                at: InvalidationLogBench.now
            )
            bench.findings.equal(fresh, 0, "new invalidations")
            bench.findings.equal(try await bench.waiting().count, 0, "what waits")
            bench.findings.equal(try await bench.mark(key), false, "the mark of what was stored after it")
        },
        Rule("Invalidations that the log has lost wait again: own and others', between the two positions.") { bench in
            try await bench.join()
            try await bench.invalidate(.tag("own"))
            let own = try await bench.waiting()[0]
            try await bench.log.published([own.id: bench.place(6)])
            let foreign = (2...5).map { LogStep.apply(bench.foreign(.tag("\($0)")), bench.place($0)) }
            try await bench.log.append(foreign, through: bench.cursor(6), at: InvalidationLogBench.now)
            try await bench.log.append(
                [.republish(after: bench.place(3), before: bench.place(1, in: 9))],
                through: bench.cursor(1, in: 9),
                at: InvalidationLogBench.now
            )
            bench.findings.equal(
                Set(try await bench.waiting().map(\.scope)),
                [.tag("4"), .tag("5"), .tag("own")],
                "waits"
            )
            bench.findings.equal(
                try await bench.log.since(.zero, limit: 9).map(\.scope),
                [.tag("2"), .tag("3")],
                "stays"
            )
            try await bench.log.append(
                [.republish(after: .zero, before: nil)],
                through: bench.cursor(1, in: 9),
                at: InvalidationLogBench.now
            )
            bench.findings.equal(try await bench.waiting().count, 5, "what waits after all was lost")
        },
        Rule("An invalidation is forgotten only after the log has kept it for a time.") { bench in
            try await bench.join()
            for tag in ["a", "b", "c"] { try await bench.invalidate(.tag(tag)) }
            let waiting = try await bench.waiting()
            try await bench.log.published([waiting[0].id: bench.place(2), waiting[1].id: bench.place(9)])
            let now = InvalidationLogBench.now
            try await bench.log.settle(through: bench.place(5), at: now, forgetting: now.adding(milliseconds: -1))
            bench.findings.equal(try await bench.log.since(.zero, limit: 9).count, 2, "kept")
            let later = now.adding(milliseconds: 10)
            try await bench.log.settle(through: bench.place(5), at: later, forgetting: now)
            bench.findings.equal(
                try await bench.log.since(.zero, limit: 9).map(\.id),
                [waiting[1].id],
                "kept behind it"
            )
            bench.findings.equal(try await bench.waiting().map(\.id), [waiting[2].id], "what waits")
            // In another epoch it has to be confirmed anew.
            try await bench.log.settle(through: bench.place(9), at: later, forgetting: now)
            try await bench.log.published([waiting[1].id: bench.place(2, in: 9)])
            try await bench.log.settle(through: bench.place(1, in: 9), at: later, forgetting: later)
            bench.findings.equal(
                try await bench.log.since(.zero, limit: 9).map(\.id),
                [waiting[1].id],
                "kept in the next"
            )
        },
    ]

    static let reopening: [Rule] = [
        Rule("The journal and the place survive a restart.") { bench in
            let place = try await bench.join()
            let scopes = try bench.scopes()
            for scope in scopes { try await bench.invalidate(scope) }
            let waiting = try await bench.waiting()
            try await bench.log.published([waiting[0].id: bench.place(4)])
            let cursor = LogCursor(position: bench.place(4), epochs: [8: 4, 3: 77])
            try await bench.log.append([], through: cursor, at: InvalidationLogBench.now)
            var again = bench
            again.pair = try await bench.reopen?(bench.pair) ?? bench.pair
            // Also before it joins.
            try await again.invalidate(.tag("between"))
            let other = try await again.join()
            bench.findings.equal(other.node, place.node, "the store's name")
            bench.findings.equal(other.cursor, cursor, "the place")
            bench.findings.equal(
                try await again.waiting().map(\.scope),
                Array(scopes.dropFirst()) + [.tag("between")],
                "what waits"
            )
            bench.findings.equal(
                try await again.log.since(.zero, limit: 9).map(\.id),
                [waiting[0].id],
                "what was published"
            )
        }
    ]
}

extension InvalidationLogBench {
    /// One of each kind.
    func scopes() throws -> [InvalidationScope] {
        let key = try stores.key("/path?query=%20")
        return [
            .all, .key(key), .target(key.components.target), .tag("t"), .prefix(TargetPrefix(key.components.target)),
            .host(TargetHost(key.components.target)),
        ]
    }
}

extension InvalidationScope {
    /// The same kind of scope, about a key.
    fileprivate func about(_ key: CacheKey) -> InvalidationScope {
        switch self {
        case .all, .tag: self
        case .key: .key(key)
        case .target: .target(key.components.target)
        case .prefix: .prefix(TargetPrefix(key.components.target))
        case .host: .host(TargetHost(key.components.target))
        }
    }
}
