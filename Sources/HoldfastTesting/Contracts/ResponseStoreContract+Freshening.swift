import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for `freshen`.
    static let freshening: [Rule] = [
        Rule("'freshen' replaces the head, and keeps the number, key, body and time of storing.") { tested in
            let key = try tested.key("/x")
            let stored = try await tested.mustPut(tested.draft(key), tested.body("x"))
            var renewal = tested.renewal(stored, fields: [.eTag: "\"2\"", .contentType: "text/plain"])
            renewal.storedAt = StoreUnderTest.now.adding(.seconds(99))
            let freshened = try tested.findings.unwrap(
                try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence),
                "a stored response was not freshened"
            )
            tested.findings.equal(
                try await tested.store.lookup(key),
                [freshened],
                "the lookup, compared with the result of 'freshen'"
            )
            tested.findings.expect(freshened.head == renewal.head, "the head differs: \(freshened.head)")
            tested.findings.equal(freshened.id, stored.id, "the number")
            tested.findings.equal(freshened.storedAt, stored.storedAt, "the time of storing")
            tested.findings.equal(try await tested.texts(key), ["x"], "the bodies")
        },
        Rule("A pin does not prevent a response from being replaced, freshened or invalidated.") { tested in
            let key = try tested.key("/x")
            var draft = tested.draft(key)
            draft.isPinned = true
            try await tested.mustPut(draft, tested.body("old"))
            let stored = try await tested.mustPut(tested.draft(key), tested.body("new"))
            tested.findings.equal(try await tested.texts(key), ["new"], "the bodies after replacing a pinned response")
            let renewal = tested.renewal(stored, fields: [.eTag: "\"2\""])
            let freshened = try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence)
            tested.findings.expect(freshened?.head == renewal.head, "a pinned response was not freshened")
            try await tested.invalidate(.key(key), soft: false)
            tested.findings.equal(try await tested.texts(key), [], "the bodies after removing a pinned response")
        },
        Rule("A response that was marked before the request was sent is served again once it is freshened.") { tested in
            let key = try tested.key("/x")
            let scopes: [InvalidationScope] = [
                .key(key), .target(key.components.target), .prefix(try tested.prefix("/x")), .tag("t"), .all,
            ]
            for scope in scopes {
                let stored = try await tested.mustPut(tested.draft(key, tags: ["t"]), tested.body("x"))
                try await tested.invalidate(scope, soft: true)
                let renewal = tested.renewal(stored, tags: ["t"])
                let freshened = try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence)
                tested.findings.expect(freshened?.head.isInvalidated == false, "\(scope.word): what 'freshen' returned")
                tested.findings.equal(try await tested.mark(key), false, "\(scope.word): the mark")
            }
        },
        Rule("A response that was invalidated after the fencing number is not freshened.") { tested in
            let key = try tested.key("/x")
            let scopes: [InvalidationScope] = [
                .key(key), .target(key.components.target), .prefix(try tested.prefix("/x")), .tag("had"), .tag("gets"),
                .all,
            ]
            for scope in scopes {
                let stored = try await tested.mustPut(tested.draft(key, tags: ["had"]), tested.body("x"))
                let fencingNumber = tested.sequence
                try await tested.invalidate(scope, soft: true)
                let renewal = tested.renewal(stored, tags: ["gets"])
                let freshened = try await tested.store.freshen(stored, with: renewal, fencingNumber: fencingNumber)
                tested.findings.expect(freshened == nil, "\(scope): it was freshened")
                let isMarked: Bool = scope == .tag("gets") ? false : true
                tested.findings.equal(try await tested.mark(key), isMarked, "\(scope): the mark")
            }
        },
        Rule("A removed response is not freshened, and does not return.") { tested in
            let key = try tested.key("/x")
            let old = try await tested.mustPut(tested.draft(key), tested.body("old"))
            try await tested.mustPut(tested.draft(key, tags: ["t"]), tested.body("new"))
            let freshened = try await tested.store.freshen(
                old,
                with: tested.renewal(old),
                fencingNumber: tested.sequence
            )
            tested.findings.expect(freshened == nil, "a replaced response was freshened")
            tested.findings.equal(try await tested.texts(key), ["new"], "the bodies")
            let prefix = InvalidationScope.prefix(try tested.prefix("/x"))
            for scope in [.key(key), .target(key.components.target), prefix, .tag("t"), .all] {
                let stored = try await tested.mustPut(tested.draft(key, tags: ["t"]), tested.body("x"))
                try await tested.invalidate(scope, soft: false)
                // The fencing number is later than the removal, so only the removal itself can
                // prevent the renewal.
                let renewal = tested.renewal(stored, tags: ["t"])
                let revived = try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence)
                tested.findings.expect(revived == nil, "\(scope.word): a removed response was freshened")
                tested.findings.equal(try await tested.store.lookup(key).count, 0, "\(scope.word): responses")
            }
        },
        Rule("'freshen' replaces the tags.") { tested in
            let key = try tested.key("/x")
            let stored = try await tested.mustPut(tested.draft(key, tags: ["a", "b"]), tested.body("x"))
            let renewal = tested.renewal(stored, tags: ["b", "c"])
            _ = try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence)
            try await tested.invalidate(.tag("a"), soft: true)
            tested.findings.equal(try await tested.mark(key), false, "the mark after an old tag was invalidated")
            try await tested.invalidate(.tag("c"), soft: true)
            tested.findings.equal(try await tested.mark(key), true, "the mark after a new tag was invalidated")
        },
        Rule("'freshen' leaves the other variants of the key as they are.") { tested in
            let key = try tested.key("/x")
            let fields: HTTPFields = [.vary: "accept"]
            let a = try await tested.mustPut(
                tested.draft(key, fields: fields, selecting: [.accept: "a"]),
                tested.body("a")
            )
            let b = try await tested.mustPut(
                tested.draft(key, fields: fields, selecting: [.accept: "b"]),
                tested.body("b")
            )
            let renewal = tested.renewal(a, fields: [.vary: "accept", .eTag: "\"2\""])
            _ = try await tested.store.freshen(a, with: renewal, fencingNumber: tested.sequence)
            tested.findings.equal(try await tested.texts(key), ["a", "b"], "the bodies")
            tested.findings.expect(try await tested.store.lookup(key).contains(b), "the other variant changed")
        },
    ]
}
