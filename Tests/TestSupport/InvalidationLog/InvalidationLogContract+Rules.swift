import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting

/// The number of invalidations that are observed while they take effect.
private let purgesUnderWatch = 300

extension InvalidationLogContract {
    static let journaling: [Rule] = [
        Rule("A store journals nothing before it joins a log.") { tested in
            try await tested.invalidate(.tag("t"))
            let place = try await tested.join()
            tested.findings.equal(place.cursor, LogCursor(), "the cursor")
            tested.findings.equal(place.unpublished, 0, "waiting invalidations after joining")
            tested.findings.equal(try await tested.waiting().count, 0, "the journal after joining")
        },
        Rule("Invalidations that a caller requests wait to be published, in the order of the requests.") {
            tested in
            try await tested.join()
            let scopes = try tested.scopes()
            for (index, scope) in scopes.enumerated() { try await tested.invalidate(scope, soft: index % 2 == 0) }
            let waiting = try await tested.waiting()
            tested.findings.equal(waiting.map(\.scope), scopes, "the scopes")
            let effects = scopes.indices.map { $0 % 2 == 0 ? InvalidationEffect.mark(.unspecified) : .remove }
            tested.findings.equal(waiting.map(\.effect), effects, "the effects")
            tested.findings.equal(Set(waiting.map(\.id)).count, scopes.count, "different names")
            tested.findings.expect(
                waiting.allSatisfy { $0.issuedAt == InvalidationLogUnderTest.now },
                "another instant"
            )
            tested.findings.equal(
                try await tested.log.unpublished(limit: 2).map(\.scope),
                Array(scopes.prefix(2)),
                "two"
            )
        },
        Rule("A response that is withdrawn here is not announced to other nodes.") { tested in
            try await tested.join()
            let key = try tested.stores.key("/wrong")
            try await tested.put(key)
            let before = tested.log.current
            for response in try await tested.pair.store.lookup(key) { try await tested.pair.store.withdraw(response) }
            tested.findings.equal(try await tested.mark(key), nil, "the response")
            tested.findings.equal(try await tested.waiting().count, 0, "waiting invalidations")
            tested.findings.equal(tested.log.current, before, "the number of the last invalidation")
        },
        Rule("An invalidation is counted as journaled before its number is visible.") { tested in
            try await tested.join()
            let (number, count) = (tested.log.current.number, tested.log.additionCount)
            let late = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    var late = 0
                    while !Task.isCancelled {
                        // The order of these two reads matters.
                        let seen = tested.log.current.number - number
                        if tested.log.additionCount - count < UInt64(seen) { late += 1 }
                        await Task.yield()
                    }
                    return late
                }
                for _ in 0..<purgesUnderWatch { try await tested.invalidate(.tag("t")) }
                group.cancelAll()
                return try await group.next() ?? 0
            }
            tested.findings.equal(late, 0, "invalidations that were seen before they were counted")
        },
        Rule("The reason for an invalidation by an unsafe method is kept.") { tested in
            try await tested.join()
            let key = try tested.stores.key("/changed")
            _ = try await tested.pair.store.invalidate(
                .key(key),
                .mark(.unsafeMethod),
                at: InvalidationLogUnderTest.now
            )
            tested.findings.equal(try await tested.waiting().map(\.effect), [.mark(.unsafeMethod)], "the effect")
        },
        Rule("A store that joins a log with another name forgets its journal and its cursor, and keeps its own name.") {
            tested in
            let first = try await tested.join("one")
            try await tested.invalidate(.all)
            try await tested.log.append([], through: tested.cursor(3), at: InvalidationLogUnderTest.now)
            let again = try await tested.join("one")
            tested.findings.equal(again.cursor, tested.cursor(3), "the cursor in the same log")
            tested.findings.equal(again.unpublished, 1, "waiting invalidations for the same log")
            let other = try await tested.join("two")
            tested.findings.equal(other.node, first.node, "the store's name")
            tested.findings.equal(other.cursor, LogCursor(), "the cursor in the other log")
            tested.findings.equal(other.unpublished, 0, "waiting invalidations for the other log")
        },
        Rule("A store's own name and its notes survive a restart, and a new name permanently replaces the old one.") {
            tested in
            let first = try await tested.join()
            tested.findings.equal(first.notes, [], "the notes at first")
            let notes = Array("one line\nanother\n".utf8)
            try await tested.log.remember(notes)
            let again = try await tested.join()
            tested.findings.equal(again.node, first.node, "the store's name")
            tested.findings.equal(again.notes, notes, "the notes")
            let renewed = try await tested.log.renewNode()
            tested.findings.expect(renewed != first.node, "the new name is the old name")
            let last = try await tested.join()
            tested.findings.equal(last.node, renewed, "the name after it was renewed")
            tested.findings.equal(last.notes, notes, "the notes after it was renewed")
            try await tested.log.remember([])
            tested.findings.equal(try await tested.join().notes, [], "the notes after others replaced them")
            guard let reopen = tested.reopen else { return }
            let reopened = try await reopen(tested.pair)
            tested.findings.equal(
                try await reopened.log.join("shop", at: InvalidationLogUnderTest.now).node,
                renewed,
                "the name"
            )
        },
        Rule("A store that has not joined accepts no step.") { tested in
            do {
                try await tested.log.append([.distrust], through: tested.cursor(1), at: InvalidationLogUnderTest.now)
                tested.findings.add("the store accepted a step")
            } catch InvalidationLogError.notJoined {}
        },
        Rule("A store that has not joined does not report that nothing is waiting.") { tested in
            do {
                _ = try await tested.waiting()
                tested.findings.add("the store reported that nothing is waiting")
            } catch InvalidationLogError.notJoined {}
        },
    ]

    static let applying: [Rule] = [
        Rule("An invalidation of another node is in force as soon as it is accepted, whatever its scope.") { tested in
            try await tested.join()
            for (number, scope) in try tested.scopes().enumerated() {
                // The partition that the scope covers: the principal's, or the common partition.
                var partition = StoreKey.Partition.common
                if case .principal(let name) = scope { partition = .principal(name) }
                let key = try tested.stores.key("/a/\(number)", partition)
                try await tested.put(key, tags: ["t"])
                let before = tested.log.current
                let step = LogStep.apply(tested.foreign(scope.about(key)), tested.place(UInt64(number + 2)))
                let fresh = try await tested.log.append(
                    [step],
                    through: tested.cursor(UInt64(number + 2)),
                    at: InvalidationLogUnderTest.now
                )
                tested.findings.equal(fresh, 1, "new invalidations by \(scope)")
                tested.findings.expect(tested.log.current > before, "\(scope) has no number here")
                tested.findings.equal(try await tested.mark(key), true, "the mark by \(scope)")
            }
        },
        Rule("A removal by another node removes.") { tested in
            try await tested.join()
            let key = try tested.stores.key("/removed")
            try await tested.put(key)
            let step = LogStep.apply(tested.foreign(.key(key), .remove), tested.place(2))
            try await tested.log.append([step], through: tested.cursor(2), at: InvalidationLogUnderTest.now)
            tested.findings.equal(try await tested.mark(key), nil, "the response")
        },
        Rule("Places that this node's routes add are marked, even by a removal, and are not journaled.") { tested in
            try await tested.join()
            let keys = try ["/named", "/added", "/other"].map { try tested.stores.key($0) }
            for key in keys { try await tested.put(key) }
            var foreign = tested.foreign(.key(keys[0]), .remove)
            foreign.localScopes = [.key(keys[1])]
            let fresh = try await tested.log.append(
                [.apply(foreign, tested.place(2))],
                through: tested.cursor(2),
                at: InvalidationLogUnderTest.now
            )
            tested.findings.equal(fresh, 1, "new invalidations")
            tested.findings.equal(try await tested.mark(keys[0]), nil, "the named response")
            tested.findings.equal(try await tested.mark(keys[1]), true, "the mark of the added response")
            tested.findings.equal(try await tested.mark(keys[2]), false, "the mark of the other response")
            let journaled = try await tested.log.since(.zero, limit: 9).map(\.scope)
            tested.findings.equal(journaled, [.key(keys[0])], "the journal")
            tested.findings.equal(try await tested.waiting().count, 0, "waiting invalidations")
        },
        Rule("A known invalidation moves its position and is not applied again.") { tested in
            try await tested.join()
            let key = try tested.stores.key("/once")
            let foreign = tested.foreign(.key(key))
            try await tested.log.append(
                [.apply(foreign, tested.place(2))],
                through: tested.cursor(2),
                at: InvalidationLogUnderTest.now
            )
            try await tested.put(key)
            let fresh = try await tested.log.append(
                [.apply(foreign, tested.place(2, in: 9))],
                through: tested.cursor(2, in: 9),
                at: InvalidationLogUnderTest.now
            )
            tested.findings.equal(fresh, 0, "new invalidations")
            tested.findings.equal(try await tested.mark(key), false, "the mark of the response stored afterward")
            tested.findings.equal(
                try await tested.log.since(tested.place(9), limit: 9).map(\.id),
                [foreign.id],
                "its place"
            )
        },
        Rule("A fetch that began before an invalidation of another node is not stored.") { tested in
            try await tested.join()
            let key = try tested.stores.key("/fill")
            let fencingNumber = tested.pair.store.invalidationSequence
            let writer = try await tested.stores.begin(tested.stores.draft(key), fencingNumber)
            try await writer.append(tested.stores.body("early"))
            let step = LogStep.apply(tested.foreign(.key(key)), tested.place(2))
            try await tested.log.append([step], through: tested.cursor(2), at: InvalidationLogUnderTest.now)
            tested.findings.expect(try await writer.finish() == nil, "it was stored")
        },
        Rule("A distrust marks every stored response and removes none.") { tested in
            try await tested.join()
            let keys = try (0..<3).map { try tested.stores.key("/\($0)") }
            for key in keys { try await tested.put(key) }
            try await tested.log.append([.distrust], through: tested.cursor(5), at: InvalidationLogUnderTest.now)
            for key in keys { tested.findings.equal(try await tested.mark(key), true, "the mark") }
            tested.findings.equal(try await tested.waiting().count, 0, "waiting invalidations, which must stay local")
        },
    ]

    static let publishing: [Rule] = [
        Rule("An invalidation with a position no longer waits, and the later of two positions counts.") { tested in
            try await tested.join()
            try await tested.invalidate(.tag("a"))
            try await tested.invalidate(.tag("b"))
            let waiting = try await tested.waiting()
            try await tested.log.published([waiting[0].id: tested.place(7)])
            tested.findings.equal(try await tested.waiting().map(\.id), [waiting[1].id], "waiting invalidations")
            try await tested.log.published([waiting[0].id: tested.place(3), waiting[1].id: tested.place(5)])
            tested.findings.equal(
                try await tested.log.since(.zero, limit: 9).map(\.id),
                [waiting[1].id, waiting[0].id],
                "their order"
            )
            tested.findings.equal(
                try await tested.log.since(tested.place(5), limit: 9).map(\.id),
                [waiting[0].id],
                "behind"
            )
        },
        Rule("A store's own invalidation that returns from the log no longer waits, and is not applied again.") {
            tested in
            try await tested.join()
            let key = try tested.stores.key("/own")
            try await tested.invalidate(.key(key))
            try await tested.put(key)
            let own = try await tested.waiting()[0]
            let fresh = try await tested.log.append(
                [.apply(own, tested.place(2))],
                through: tested.cursor(2),
                at: InvalidationLogUnderTest.now
            )
            tested.findings.equal(fresh, 0, "new invalidations")
            tested.findings.equal(try await tested.waiting().count, 0, "waiting invalidations")
            tested.findings.equal(try await tested.mark(key), false, "the mark of the response stored afterward")
        },
        Rule("Lost invalidations between the two positions wait again, whether own or others'.") { tested in
            try await tested.join()
            try await tested.invalidate(.tag("own"))
            let own = try await tested.waiting()[0]
            try await tested.log.published([own.id: tested.place(6)])
            let foreign = (2...5).map { LogStep.apply(tested.foreign(.tag("\($0)")), tested.place($0)) }
            try await tested.log.append(foreign, through: tested.cursor(6), at: InvalidationLogUnderTest.now)
            try await tested.log.append(
                [.republish(after: tested.place(3), before: tested.place(1, in: 9))],
                through: tested.cursor(1, in: 9),
                at: InvalidationLogUnderTest.now
            )
            tested.findings.equal(
                Set(try await tested.waiting().map(\.scope)),
                [.tag("4"), .tag("5"), .tag("own")],
                "waits"
            )
            tested.findings.equal(
                try await tested.log.since(.zero, limit: 9).map(\.scope),
                [.tag("2"), .tag("3")],
                "stays"
            )
            try await tested.log.append(
                [.republish(after: .zero, before: nil)],
                through: tested.cursor(1, in: 9),
                at: InvalidationLogUnderTest.now
            )
            tested.findings.equal(try await tested.waiting().count, 5, "waiting invalidations after all were lost")
        },
        Rule("An invalidation is forgotten only after the log has kept it for a time.") { tested in
            try await tested.join()
            for tag in ["a", "b", "c"] { try await tested.invalidate(.tag(tag)) }
            let waiting = try await tested.waiting()
            try await tested.log.published([waiting[0].id: tested.place(2), waiting[1].id: tested.place(9)])
            let now = InvalidationLogUnderTest.now
            try await tested.log.settle(through: tested.place(5), at: now, forgetting: now.adding(milliseconds: -1))
            tested.findings.equal(try await tested.log.since(.zero, limit: 9).count, 2, "kept")
            let later = now.adding(milliseconds: 10)
            try await tested.log.settle(through: tested.place(5), at: later, forgetting: now)
            tested.findings.equal(
                try await tested.log.since(.zero, limit: 9).map(\.id),
                [waiting[1].id],
                "kept after it"
            )
            tested.findings.equal(try await tested.waiting().map(\.id), [waiting[2].id], "waiting invalidations")
            // In another epoch, the entry must be confirmed again.
            try await tested.log.settle(through: tested.place(9), at: later, forgetting: now)
            try await tested.log.published([waiting[1].id: tested.place(2, in: 9)])
            try await tested.log.settle(through: tested.place(1, in: 9), at: later, forgetting: later)
            tested.findings.equal(
                try await tested.log.since(.zero, limit: 9).map(\.id),
                [waiting[1].id],
                "kept in the next epoch"
            )
        },
    ]

    static let reopening: [Rule] = [
        Rule("The journal and the cursor survive a restart.") { tested in
            let place = try await tested.join()
            let scopes = try tested.scopes()
            for scope in scopes { try await tested.invalidate(scope) }
            let waiting = try await tested.waiting()
            try await tested.log.published([waiting[0].id: tested.place(4)])
            let cursor = LogCursor(position: tested.place(4), epochs: [8: 4, 3: 77])
            try await tested.log.append([], through: cursor, at: InvalidationLogUnderTest.now)
            var again = tested
            again.pair = try await tested.reopen?(tested.pair) ?? tested.pair
            // This also holds before the store joins.
            try await again.invalidate(.tag("between"))
            let other = try await again.join()
            tested.findings.equal(other.node, place.node, "the store's name")
            tested.findings.equal(other.cursor, cursor, "the cursor")
            tested.findings.equal(
                try await again.waiting().map(\.scope),
                Array(scopes.dropFirst()) + [.tag("between")],
                "what waits"
            )
            tested.findings.equal(
                try await again.log.since(.zero, limit: 9).map(\.id),
                [waiting[0].id],
                "the published invalidations"
            )
        }
    ]
}

extension InvalidationLogUnderTest {
    /// Returns one scope of each kind.
    func scopes() throws -> [InvalidationScope] {
        let key = try stores.key("/path?query=%20")
        return [
            .all, .key(key), .target(key.components.target), .tag("t"), .prefix(TargetPrefix(key.components.target)),
            .host(TargetHost(key.components.target)), .principal("ada"),
        ]
    }
}

extension InvalidationScope {
    /// Returns the same kind of scope for a key.
    fileprivate func about(_ key: StoreKey) -> InvalidationScope {
        switch self {
        case .all, .tag, .principal: self
        case .key: .key(key)
        case .target: .target(key.components.target)
        case .prefix: .prefix(TargetPrefix(key.components.target))
        case .host: .host(TargetHost(key.components.target))
        }
    }
}
