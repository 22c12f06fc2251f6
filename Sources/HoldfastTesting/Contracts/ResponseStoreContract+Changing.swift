import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// `changes`.
    static let changing: [Rule] = [
        Rule(
            "A watcher receives what was stored, freshened and invalidated, in this order, after a lookup finds it."
        ) {
            bench in
            let key = try bench.key("/x")
            var changes = bench.store.changes.changes(of: .key(key)).makeAsyncIterator()
            let stored = try await bench.mustPut(bench.draft(key, tags: ["t"]), bench.body("x"))
            bench.findings.equal(await changes.next(), StoreChange(.stored, .key(key), tags: ["t"]), "the first change")
            bench.findings.equal(try await bench.texts(key), ["x"], "the bodies after the first change")

            let renewal = bench.renewal(stored, fields: [.eTag: "\"2\""], tags: ["u"])
            _ = try await bench.store.freshen(stored, with: renewal, fence: bench.sequence)
            bench.findings.equal(
                await changes.next(),
                StoreChange(.freshened, .key(key), tags: ["u"]),
                "the second change"
            )
            let found = try await bench.store.lookup(key).first?.head.fields[.eTag]
            bench.findings.equal(found, "\"2\"", "the field that was freshened")

            let prefix = InvalidationScope.prefix(try bench.prefix("/x"))
            for scope in [.tag("u"), .key(key), .target(key.components.target), prefix, .all] {
                try await bench.invalidate(scope, soft: true)
                bench.findings.equal(
                    await changes.next(),
                    StoreChange(.invalidated, scope),
                    "the change by \(scope.word)"
                )
                bench.findings.equal(try await bench.mark(key), true, "the mark after the change by \(scope.word)")
            }
        },
        Rule("A change is reported after its commit: a watcher that receives it finds it.") { bench in
            let key = try bench.key("/x")
            let changes = bench.store.changes.changes(of: .key(key))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for round in 0..<20 {
                        try await bench.put(bench.draft(key, fields: [.age: "\(round)"]), bench.body("x"))
                    }
                }
                group.addTask {
                    var seen = 0
                    var last = -1
                    for await _ in changes {
                        seen += 1
                        let age = try await bench.store.lookup(key).first?.head.fields[.age].flatMap { Int($0) } ?? -1
                        bench.findings.expect(age >= seen - 1, "change \(seen): the lookup found number \(age)")
                        bench.findings.expect(
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
        Rule("A watcher of one key, target, prefix or tag receives its changes, and no others.") { bench in
            let (x, y) = (try bench.key("/x"), try bench.key("/y"))
            let interests: [InvalidationScope] = [
                .key(y), .target(y.components.target), .prefix(try bench.prefix("/y")), .tag("y"),
            ]
            var streams = interests.map { bench.store.changes.changes(of: $0).makeAsyncIterator() }
            try await bench.mustPut(bench.draft(x, tags: ["x"]), bench.body("x"))
            try await bench.mustPut(bench.draft(y, tags: ["y"]), bench.body("y"))
            for index in streams.indices {
                let change = await streams[index].next()
                bench.findings.equal(
                    change,
                    StoreChange(.stored, .key(y), tags: ["y"]),
                    "\(interests[index].word)'s first change"
                )
            }
        },
    ]

    /// A store that is closed and opened again.
    static let reopening: [Rule] = [
        Rule("The sequence does not decrease across a restart.") { bench in
            var last = try await bench.invalidate(.all, soft: true)
            last = max(last, try await bench.invalidate(.tag("t"), soft: false))
            let again = try await bench.reopened()
            bench.findings.expect(again.sequence >= last, "\(again.sequence.number) after \(last.number)")
            let next = try await again.invalidate(.all, soft: true)
            bench.findings.expect(next > last, "the next number is \(next.number) after \(last.number)")
        },
        Rule("An invalidated response is still invalidated after a restart.") { bench in
            let names = ["key", "target", "prefix", "tag"]
            for soft in [true, false] {
                for name in names {
                    let path = "/\(name)-\(soft)"
                    try await bench.mustPut(bench.draft(try bench.key(path), tags: [path]), bench.body("x"))
                }
                try await bench.mustPut(bench.draft(try bench.key("/other")), bench.body("x"))
            }
            for soft in [true, false] {
                try await bench.invalidate(.key(try bench.key("/key-\(soft)")), soft: soft)
                try await bench.invalidate(.target(try bench.target("/target-\(soft)")), soft: soft)
                try await bench.invalidate(.prefix(try bench.prefix("/prefix-\(soft)")), soft: soft)
                try await bench.invalidate(.tag("/tag-\(soft)"), soft: soft)
            }
            let again = try await bench.reopened()
            for soft in [true, false] {
                for name in names {
                    let isMarked = try await again.mark(try again.key("/\(name)-\(soft)"))
                    bench.findings.equal(isMarked, soft ? true : nil, "\(name), \(soft ? "soft" : "hard"): the mark")
                }
            }
            bench.findings.equal(try await again.mark(try again.key("/other")), false, "the mark of another one")
        },
        Rule("The cause of an invalidation is known after a restart.") { bench in
            let keys = try ["/key", "/target", "/tag", "/other"].map { try bench.key($0) }
            for key in keys {
                try await bench.mustPut(bench.draft(key, tags: [key.components.target.path]), bench.body("x"))
            }
            for scope in [.key(keys[0]), .target(try bench.target("/target")), InvalidationScope.tag("/tag")] {
                try await bench.store.invalidate(scope, .mark(.unsafeMethod), at: StoreBench.now)
            }
            try await bench.invalidate(.key(keys[3]), soft: true)
            let again = try await bench.reopened()
            for key in keys.prefix(3) {
                bench.findings.equal(
                    try await again.cause(key),
                    .unsafeMethod,
                    "the cause of '\(key.components.target.path)'"
                )
            }
            bench.findings.equal(try await again.cause(keys[3]), .unspecified, "the cause of a purge")
        },
        Rule("A fetch that began before an invalidation is not stored, even after a restart.") { bench in
            let fence = bench.sequence
            try await bench.invalidate(.tag("t"), soft: true)
            let again = try await bench.reopened()
            let late = try await again.put(again.draft(try again.key("/x"), tags: ["t"]), again.body("late"), fence)
            bench.findings.expect(late == nil, "it was stored")
        },
        Rule("A stored response is found after a restart with its body and its tags, and no number is reused.") {
            bench in
            let key = try bench.key("/x")
            let body = bench.noise(StoreBench.large)
            let stored = try await bench.mustPut(bench.draft(key, tags: ["t"]), body)
            let again = try await bench.reopened()
            bench.findings.equal(try await again.store.lookup(key), [stored], "the lookup")
            bench.findings.expect(try await again.read(stored) == body, "the body is another one, or gone")
            let next = try await again.mustPut(again.draft(try again.key("/y")), again.body("y"))
            bench.findings.expect(next.id != stored.id, "the number \(next.id) was given twice")
            try await again.invalidate(.tag("t"), soft: true)
            bench.findings.equal(try await again.mark(key), true, "the mark after its tag was invalidated")
        },
        Rule("An unfinished response does not exist after a restart.") { bench in
            let key = try bench.key("/x")
            do {
                let writer = try await bench.begin(bench.draft(key))
                try await writer.append(bench.noise(StoreBench.large))
            }
            bench.findings.equal(try await bench.reopened().store.lookup(key).count, 0, "responses")
        },
    ]
}
