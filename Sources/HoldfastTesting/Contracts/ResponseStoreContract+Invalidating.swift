import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// The scopes that contain the key `/x` with the tag `t`.
    private static func scopes(_ bench: StoreBench) throws -> [InvalidationScope] {
        [
            .key(try bench.key("/x")), .target(try bench.target("/x")), .prefix(try bench.prefix("/x")), .tag("t"),
            .all,
        ]
    }

    /// `invalidate`, the sequence and the fencing number.
    static let invalidating: [Rule] = [
        Rule(
            "Every invalidation has a larger number than the one before, and 'invalidationSequence' has reached that number when the call returns."
        ) {
            bench in
            var last = bench.sequence
            for scope in try scopes(bench) {
                for soft in [true, false] {
                    let number = try await bench.invalidate(scope, soft: soft)
                    bench.findings.expect(number > last, "\(scope.word): \(number.number) after \(last.number)")
                    bench.findings.equal(bench.sequence, number, "\(scope.word): the sequence")
                    last = number
                }
            }
        },
        Rule("Storing and reading take no number of the sequence.") { bench in
            let before = bench.sequence
            try await bench.mustPut(bench.draft(try bench.key("/x")), bench.body("x"))
            _ = try await bench.texts(try bench.key("/x"))
            bench.findings.equal(bench.sequence, before, "the sequence")
        },
        Rule(
            "A response whose fetch began before an invalidation of its key, target, prefix, tag or of all responses is not stored."
        ) {
            bench in
            let key = try bench.key("/x")
            for scope in try scopes(bench) {
                for soft in [true, false] {
                    let fence = bench.sequence
                    try await bench.invalidate(scope, soft: soft)
                    let late = try await bench.put(bench.draft(key, tags: ["s", "t"]), bench.body("late"), fence)
                    bench.findings.expect(late == nil, "\(scope.word), \(soft ? "soft" : "hard"): it was stored")
                    let writer = try await bench.begin(bench.draft(key, tags: ["t"]))
                    try await writer.append(bench.noise(StoreBench.large))
                    try await bench.invalidate(scope, soft: soft)
                    let during = try await writer.finish()
                    bench.findings.expect(during == nil, "\(scope.word), between 'append' and 'finish': it was stored")
                    bench.findings.equal(try await bench.store.lookup(key).count, 0, "\(scope.word): responses")
                }
            }
        },
        Rule("A fetch that began after an invalidation is stored, and so is one that the invalidation does not cover.")
        {
            bench in
            let key = try bench.key("/x")
            for scope in try scopes(bench) {
                try await bench.invalidate(scope, soft: true)
                let stored = try await bench.put(bench.draft(key, tags: ["t"]), bench.body("x"))
                bench.findings.expect(stored != nil, "\(scope.word): a fill that began later was not stored")
                bench.findings.equal(
                    try await bench.mark(key),
                    false,
                    "\(scope.word): the mark of the response that was stored later"
                )
            }
            let fence = bench.sequence
            for scope in try scopes(bench) where scope != .all && scope.word != "prefix" {
                try await bench.invalidate(scope, soft: false)
            }
            // Of its own origin a prefix may concern more than it covers.
            try await bench.invalidate(.prefix(try TargetPrefix("https://store.example.evil/")), soft: false)
            let other = try await bench.put(bench.draft(try bench.key("/y"), tags: ["u"]), bench.body("y"), fence)
            bench.findings.expect(other != nil, "a response with another key, target and tag was not stored")
        },
        Rule("'keepingForOffline' marks a response and keeps it; otherwise the response is removed.") { bench in
            let key = try bench.key("/x")
            for scope in try scopes(bench) {
                try await bench.mustPut(bench.draft(key, tags: ["t"]), bench.body("x"))
                try await bench.invalidate(scope, soft: true)
                bench.findings.equal(try await bench.mark(key), true, "\(scope.word), soft: the mark")
                bench.findings.equal(try await bench.texts(key), ["x"], "\(scope.word), soft: the bodies")
                try await bench.invalidate(scope, soft: false)
                bench.findings.equal(try await bench.store.lookup(key).count, 0, "\(scope.word), hard: responses")
                bench.findings.expect(
                    bench.store.resident(key) ?? [] == [],
                    "\(scope.word), hard: 'resident' still returns it"
                )
            }
        },
        Rule(
            "An invalidation of a target covers all partitions, method classes and variants; an invalidation of a key covers only its variants."
        ) {
            bench in
            let content = CacheKey.Content(type: nil, coding: nil, sha256: [UInt8](repeating: 3, count: 32))
            let key = try bench.key("/x")
            let siblings = [
                try bench.key("/x", .principal("p")), try bench.key("/x", .credentials([1, 2])),
                try bench.key("/x", method: .post, content: content),
            ]
            let strangers = [try bench.key("/x?"), try bench.key("/x/"), try bench.key("/y")]
            for soft in [true, false] {
                let after: Bool? = soft ? true : nil
                for key in [key] + siblings + strangers { try await bench.mustPut(bench.draft(key), bench.body("x")) }
                let variant = bench.draft(key, fields: [.vary: "accept"], selecting: [.accept: "a"])
                try await bench.mustPut(variant, bench.body("variant"))
                try await bench.invalidate(.key(key), soft: soft)
                let found = try await bench.store.lookup(key).map(\.head.isInvalidated)
                bench.findings.equal(found, soft ? [true, true] : [], "key, \(soft ? "soft" : "hard"): its variants")
                for other in siblings + strangers {
                    bench.findings.equal(try await bench.mark(other), false, "key: another key's mark")
                }
                try await bench.invalidate(.target(try bench.target("/x")), soft: soft)
                for sibling in siblings {
                    bench.findings.equal(try await bench.mark(sibling), after, "target: \(sibling.components.method)")
                }
                for stranger in strangers {
                    bench.findings.equal(try await bench.mark(stranger), false, "target: \(stranger.components.target)")
                }
            }
        },
        Rule(
            "An invalidation's cause is kept until the response is freshened or replaced; of two causes, the greater one."
        ) {
            bench in
            let key = try bench.key("/x")
            let scopes = [.key(key), .target(try bench.target("/x")), InvalidationScope.tag("t")]
            for scope in scopes {
                for causes in [[.unsafeMethod], [.unspecified, .unsafeMethod], [.unsafeMethod, .unspecified]]
                    as [[InvalidationCause]]
                {
                    let stored = try await bench.mustPut(bench.draft(key, tags: ["t"]), bench.body("x"))
                    bench.findings.equal(try await bench.cause(key), nil, "\(scope.word): the cause of a new response")
                    for cause in causes { try await bench.store.invalidate(scope, .mark(cause), at: StoreBench.now) }
                    bench.findings.equal(
                        try await bench.cause(key),
                        .unsafeMethod,
                        "\(scope.word): the cause after \(causes)"
                    )
                    let resident = bench.store.resident(key)?.first?.head.invalidation
                    bench.findings.expect(
                        resident ?? .unsafeMethod == .unsafeMethod,
                        "\(scope.word): 'resident' returns \(resident.map { "\($0)" } ?? "nothing")"
                    )
                    let renewal = bench.renewal(stored, tags: ["t"])
                    _ = try await bench.store.freshen(stored, with: renewal, fence: bench.sequence)
                    bench.findings.equal(try await bench.cause(key), nil, "\(scope.word): the cause after 'freshen'")
                    try await bench.store.invalidate(scope, .mark(.unspecified), at: StoreBench.now)
                    bench.findings.equal(
                        try await bench.cause(key),
                        .unspecified,
                        "\(scope.word): the cause of the next invalidation"
                    )
                }
            }
        },
        Rule("An invalidation that covers no stored response is not an error.") { bench in
            for scope in try scopes(bench) {
                for soft in [true, false] { try await bench.invalidate(scope, soft: soft) }
            }
        },
    ]

    /// Invalidation by tag.
    static let tagging: [Rule] = [
        Rule("A tag is invalidated for all responses that carry it, in all partitions, and for no others.") { bench in
            let carrying = [
                try bench.key("/a"), try bench.key("/b"), try bench.key("/a", .principal("p")),
                try bench.key("/a", .principal("q")),
            ]
            let others = [try bench.key("/c"), try bench.key("/d")]
            for soft in [true, false] {
                let after: Bool? = soft ? true : nil
                for key in carrying {
                    try await bench.mustPut(bench.draft(key, tags: ["s", "t", "t"]), bench.body("x"))
                }
                try await bench.mustPut(bench.draft(others[0], tags: ["T", "tt", "s", ""]), bench.body("x"))
                try await bench.mustPut(bench.draft(others[1]), bench.body("x"))
                try await bench.invalidate(.tag("t"), soft: soft)
                for key in carrying {
                    bench.findings.equal(try await bench.mark(key), after, "the mark of one that carries it")
                }
                for key in others {
                    bench.findings.equal(try await bench.mark(key), false, "the mark of one that does not")
                }
            }
        },
        Rule("A response that replaces another has only its own tags.") { bench in
            let key = try bench.key("/x")
            try await bench.mustPut(bench.draft(key, tags: ["old"]), bench.body("x"))
            try await bench.mustPut(bench.draft(key, tags: ["new"]), bench.body("x"))
            try await bench.invalidate(.tag("old"), soft: true)
            bench.findings.equal(try await bench.mark(key), false, "the mark after 'old' was invalidated")
            try await bench.invalidate(.tag("new"), soft: true)
            bench.findings.equal(try await bench.mark(key), true, "the mark after 'new' was invalidated")
        },
        Rule("An invalidation of a tag is in force when it returns, however many responses carry it.") { bench in
            for index in 0..<300 {
                try await bench.mustPut(bench.draft(try bench.key("/\(index)"), tags: ["t"]), bench.body("x"))
            }
            try await bench.invalidate(.tag("t"), soft: true)
            for index in stride(from: 299, through: 0, by: -1) {
                bench.findings.equal(
                    try await bench.mark(try bench.key("/\(index)")),
                    true,
                    "the mark of number \(index)"
                )
            }
            try await bench.invalidate(.tag("t"), soft: false)
            for index in stride(from: 299, through: 0, by: -1) {
                bench.findings.equal(try await bench.mark(try bench.key("/\(index)")), nil, "number \(index), removed")
            }
        },
    ]
}
