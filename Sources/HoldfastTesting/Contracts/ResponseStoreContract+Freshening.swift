import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// `freshen`.
    static let freshening: [Rule] = [
        Rule("'freshen' replaces the head, and keeps the number, key, body and time of storing.") { bench in
            let key = try bench.key("/x")
            let stored = try await bench.mustPut(bench.draft(key), bench.body("x"))
            var renewal = bench.renewal(stored, fields: [.eTag: "\"2\"", .contentType: "text/plain"])
            renewal.storedAt = StoreBench.now.adding(.seconds(99))
            let freshened = try bench.findings.unwrap(
                try await bench.store.freshen(stored, with: renewal, fence: bench.sequence),
                "a stored response was not freshened"
            )
            bench.findings.equal(
                try await bench.store.lookup(key),
                [freshened],
                "the lookup, compared with the result of 'freshen'"
            )
            bench.findings.expect(freshened.head == renewal.head, "the head is another one: \(freshened.head)")
            bench.findings.equal(freshened.id, stored.id, "the number")
            bench.findings.equal(freshened.storedAt, stored.storedAt, "the time of storing")
            bench.findings.equal(try await bench.texts(key), ["x"], "the bodies")
        },
        Rule("A pin does not prevent a response from being replaced, freshened or invalidated.") { bench in
            let key = try bench.key("/x")
            var draft = bench.draft(key)
            draft.isPinned = true
            try await bench.mustPut(draft, bench.body("old"))
            let stored = try await bench.mustPut(bench.draft(key), bench.body("new"))
            bench.findings.equal(try await bench.texts(key), ["new"], "the bodies after a pinned one was replaced")
            let renewal = bench.renewal(stored, fields: [.eTag: "\"2\""])
            let freshened = try await bench.store.freshen(stored, with: renewal, fence: bench.sequence)
            bench.findings.expect(freshened?.head == renewal.head, "a pinned response was not freshened")
            try await bench.invalidate(.key(key), soft: false)
            bench.findings.equal(try await bench.texts(key), [], "the bodies after a pinned one was removed")
        },
        Rule("A response that was marked before the request was sent is served again once it is freshened.") { bench in
            let key = try bench.key("/x")
            let scopes: [InvalidationScope] = [
                .key(key), .target(key.components.target), .prefix(try bench.prefix("/x")), .tag("t"), .all,
            ]
            for scope in scopes {
                let stored = try await bench.mustPut(bench.draft(key, tags: ["t"]), bench.body("x"))
                try await bench.invalidate(scope, soft: true)
                let renewal = bench.renewal(stored, tags: ["t"])
                let freshened = try await bench.store.freshen(stored, with: renewal, fence: bench.sequence)
                bench.findings.expect(freshened?.head.isInvalidated == false, "\(scope.word): what 'freshen' returned")
                bench.findings.equal(try await bench.mark(key), false, "\(scope.word): the mark")
            }
        },
        Rule("A response that was invalidated after the fencing number is not freshened.") { bench in
            let key = try bench.key("/x")
            let scopes: [InvalidationScope] = [
                .key(key), .target(key.components.target), .prefix(try bench.prefix("/x")), .tag("had"), .tag("gets"),
                .all,
            ]
            for scope in scopes {
                let stored = try await bench.mustPut(bench.draft(key, tags: ["had"]), bench.body("x"))
                let fence = bench.sequence
                try await bench.invalidate(scope, soft: true)
                let renewal = bench.renewal(stored, tags: ["gets"])
                let freshened = try await bench.store.freshen(stored, with: renewal, fence: fence)
                bench.findings.expect(freshened == nil, "\(scope): it was freshened")
                let isMarked: Bool = scope == .tag("gets") ? false : true
                bench.findings.equal(try await bench.mark(key), isMarked, "\(scope): the mark")
            }
        },
        Rule("A removed response is not freshened, and does not return.") { bench in
            let key = try bench.key("/x")
            let old = try await bench.mustPut(bench.draft(key), bench.body("old"))
            try await bench.mustPut(bench.draft(key, tags: ["t"]), bench.body("new"))
            let freshened = try await bench.store.freshen(old, with: bench.renewal(old), fence: bench.sequence)
            bench.findings.expect(freshened == nil, "one that was replaced was freshened")
            bench.findings.equal(try await bench.texts(key), ["new"], "the bodies")
            let prefix = InvalidationScope.prefix(try bench.prefix("/x"))
            for scope in [.key(key), .target(key.components.target), prefix, .tag("t"), .all] {
                let stored = try await bench.mustPut(bench.draft(key, tags: ["t"]), bench.body("x"))
                try await bench.invalidate(scope, soft: false)
                // The fencing number is later than the removal: only the removal itself forbids it.
                let renewal = bench.renewal(stored, tags: ["t"])
                let revived = try await bench.store.freshen(stored, with: renewal, fence: bench.sequence)
                bench.findings.expect(revived == nil, "\(scope.word): one that was removed was freshened")
                bench.findings.equal(try await bench.store.lookup(key).count, 0, "\(scope.word): responses")
            }
        },
        Rule("'freshen' replaces the tags.") { bench in
            let key = try bench.key("/x")
            let stored = try await bench.mustPut(bench.draft(key, tags: ["a", "b"]), bench.body("x"))
            let renewal = bench.renewal(stored, tags: ["b", "c"])
            _ = try await bench.store.freshen(stored, with: renewal, fence: bench.sequence)
            try await bench.invalidate(.tag("a"), soft: true)
            bench.findings.equal(try await bench.mark(key), false, "the mark after a tag that it had was invalidated")
            try await bench.invalidate(.tag("c"), soft: true)
            bench.findings.equal(try await bench.mark(key), true, "the mark after a tag that it got was invalidated")
        },
        Rule("'freshen' leaves the other variants of the key as they are.") { bench in
            let key = try bench.key("/x")
            let fields: HTTPFields = [.vary: "accept"]
            let a = try await bench.mustPut(
                bench.draft(key, fields: fields, selecting: [.accept: "a"]),
                bench.body("a")
            )
            let b = try await bench.mustPut(
                bench.draft(key, fields: fields, selecting: [.accept: "b"]),
                bench.body("b")
            )
            let renewal = bench.renewal(a, fields: [.vary: "accept", .eTag: "\"2\""])
            _ = try await bench.store.freshen(a, with: renewal, fence: bench.sequence)
            bench.findings.equal(try await bench.texts(key), ["a", "b"], "the bodies")
            bench.findings.expect(try await bench.store.lookup(key).contains(b), "the other variant changed")
        },
    ]
}
