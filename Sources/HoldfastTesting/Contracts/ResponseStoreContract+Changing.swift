import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for `changes`.
    static let changing: [Rule] = [
        Rule(
            "A watcher receives what was stored, freshened and invalidated, in this order, after a lookup finds it."
        ) {
            tested in
            let key = try tested.key("/x")
            var changes = tested.store.changes.changes(of: .key(key)).makeAsyncIterator()
            let stored = try await tested.mustPut(tested.draft(key, tags: ["t"]), tested.body("x"))
            tested.findings.equal(
                await changes.next(),
                StoreChange(.stored, .key(key), tags: ["t"]),
                "the first change"
            )
            tested.findings.equal(try await tested.texts(key), ["x"], "the bodies after the first change")

            let renewal = tested.renewal(stored, fields: [.eTag: "\"2\""], tags: ["u"])
            _ = try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence)
            tested.findings.equal(
                await changes.next(),
                StoreChange(.freshened, .key(key), tags: ["u"]),
                "the second change"
            )
            let found = try await tested.store.lookup(key).first?.head.fields[.eTag]
            tested.findings.equal(found, "\"2\"", "the freshened field")

            let prefix = InvalidationScope.prefix(try tested.prefix("/x"))
            for scope in [.tag("u"), .key(key), .target(key.components.target), prefix, .all] {
                try await tested.invalidate(scope, soft: true)
                tested.findings.equal(
                    await changes.next(),
                    StoreChange(.invalidated, scope),
                    "the change by \(scope.word)"
                )
                tested.findings.equal(try await tested.mark(key), true, "the mark after the change by \(scope.word)")
            }
        },
        Rule("A change is reported after its commit: a watcher that receives it finds it.") { tested in
            let key = try tested.key("/x")
            let changes = tested.store.changes.changes(of: .key(key))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for round in 0..<20 {
                        try await tested.put(tested.draft(key, fields: [.age: "\(round)"]), tested.body("x"))
                    }
                }
                group.addTask {
                    var seen = 0
                    var last = -1
                    for await _ in changes {
                        seen += 1
                        let age = try await tested.store.lookup(key).first?.head.fields[.age].flatMap { Int($0) } ?? -1
                        tested.findings.expect(age >= seen - 1, "change \(seen): the lookup found number \(age)")
                        tested.findings.expect(
                            age >= last,
                            "change \(seen): the lookup went back from \(last) to \(age)"
                        )
                        last = age
                        if seen == 20 { break }
                    }
                }
                try await group.waitForAll()
            }
        },
        Rule("A watcher of one key, target, prefix or tag receives its changes, and no others.") { tested in
            let (x, y) = (try tested.key("/x"), try tested.key("/y"))
            let interests: [InvalidationScope] = [
                .key(y), .target(y.components.target), .prefix(try tested.prefix("/y")), .tag("y"),
            ]
            var streams = interests.map { tested.store.changes.changes(of: $0).makeAsyncIterator() }
            try await tested.mustPut(tested.draft(x, tags: ["x"]), tested.body("x"))
            try await tested.mustPut(tested.draft(y, tags: ["y"]), tested.body("y"))
            for index in streams.indices {
                let change = await streams[index].next()
                tested.findings.equal(
                    change,
                    StoreChange(.stored, .key(y), tags: ["y"]),
                    "\(interests[index].word)'s first change"
                )
            }
        },
    ]

    /// Rules for a store that is closed and opened again.
    static let reopening: [Rule] = [
        Rule("The sequence does not decrease across a restart.") { tested in
            var last = try await tested.invalidate(.all, soft: true)
            last = max(last, try await tested.invalidate(.tag("t"), soft: false))
            let again = try await tested.reopened()
            tested.findings.expect(again.sequence >= last, "\(again.sequence.number) after \(last.number)")
            let next = try await again.invalidate(.all, soft: true)
            tested.findings.expect(next > last, "the next number is \(next.number) after \(last.number)")
        },
        Rule("An invalidated response is still invalidated after a restart.") { tested in
            let names = ["key", "target", "prefix", "tag"]
            for soft in [true, false] {
                for name in names {
                    let path = "/\(name)-\(soft)"
                    try await tested.mustPut(tested.draft(try tested.key(path), tags: [path]), tested.body("x"))
                }
                try await tested.mustPut(tested.draft(try tested.key("/other")), tested.body("x"))
            }
            for soft in [true, false] {
                try await tested.invalidate(.key(try tested.key("/key-\(soft)")), soft: soft)
                try await tested.invalidate(.target(try tested.target("/target-\(soft)")), soft: soft)
                try await tested.invalidate(.prefix(try tested.prefix("/prefix-\(soft)")), soft: soft)
                try await tested.invalidate(.tag("/tag-\(soft)"), soft: soft)
            }
            let again = try await tested.reopened()
            for soft in [true, false] {
                for name in names {
                    let isMarked = try await again.mark(try again.key("/\(name)-\(soft)"))
                    tested.findings.equal(isMarked, soft ? true : nil, "\(name), \(soft ? "soft" : "hard"): the mark")
                }
            }
            tested.findings.equal(try await again.mark(try again.key("/other")), false, "the mark of another response")
        },
        Rule("The cause of an invalidation is known after a restart.") { tested in
            let keys = try ["/key", "/target", "/tag", "/other"].map { try tested.key($0) }
            for key in keys {
                try await tested.mustPut(tested.draft(key, tags: [key.components.target.path]), tested.body("x"))
            }
            for scope in [.key(keys[0]), .target(try tested.target("/target")), InvalidationScope.tag("/tag")] {
                try await tested.store.invalidate(scope, .mark(.unsafeMethod), at: StoreUnderTest.now)
            }
            try await tested.invalidate(.key(keys[3]), soft: true)
            let again = try await tested.reopened()
            for key in keys.prefix(3) {
                tested.findings.equal(
                    try await again.cause(key),
                    .unsafeMethod,
                    "the cause of '\(key.components.target.path)'"
                )
            }
            tested.findings.equal(try await again.cause(keys[3]), .unspecified, "the cause of a purge")
        },
        Rule("A fetch that began before an invalidation is not stored, even after a restart.") { tested in
            let fencingNumber = tested.sequence
            try await tested.invalidate(.tag("t"), soft: true)
            let again = try await tested.reopened()
            let late = try await again.put(
                again.draft(try again.key("/x"), tags: ["t"]),
                again.body("late"),
                fencingNumber
            )
            tested.findings.expect(late == nil, "it was stored")
        },
        Rule("A stored response is found after a restart with its body and its tags, and no number is reused.") {
            tested in
            let key = try tested.key("/x")
            let body = tested.noise(StoreUnderTest.large)
            let stored = try await tested.mustPut(tested.draft(key, tags: ["t"]), body)
            let again = try await tested.reopened()
            tested.findings.equal(try await again.store.lookup(key), [stored], "the lookup")
            tested.findings.expect(try await again.read(stored) == body, "the body differs or is gone")
            let next = try await again.mustPut(again.draft(try again.key("/y")), again.body("y"))
            tested.findings.expect(next.id != stored.id, "the number \(next.id) was used twice")
            try await again.invalidate(.tag("t"), soft: true)
            tested.findings.equal(try await again.mark(key), true, "the mark after its tag was invalidated")
        },
        Rule("An unfinished response does not exist after a restart.") { tested in
            let key = try tested.key("/x")
            do {
                let writer = try await tested.begin(tested.draft(key))
                try await writer.append(tested.noise(StoreUnderTest.large))
            }
            tested.findings.equal(try await tested.reopened().store.lookup(key).count, 0, "responses")
        },
    ]
}
