import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Returns the scopes that contain the key `/x` with the tag `t`.
    private static func scopes(_ tested: StoreUnderTest) throws -> [InvalidationScope] {
        [
            .key(try tested.key("/x")), .target(try tested.target("/x")), .prefix(try tested.prefix("/x")), .tag("t"),
            .all,
        ]
    }

    /// Rules for `invalidate`, the sequence and the fencing number.
    static let invalidating: [Rule] = [
        Rule(
            "Every invalidation has a larger number than the one before, and 'invalidationSequence' has reached that number when the call returns."
        ) {
            tested in
            var last = tested.sequence
            for scope in try scopes(tested) {
                for soft in [true, false] {
                    let number = try await tested.invalidate(scope, soft: soft)
                    tested.findings.expect(number > last, "\(scope.word): \(number.number) after \(last.number)")
                    tested.findings.equal(tested.sequence, number, "\(scope.word): the sequence")
                    last = number
                }
            }
        },
        Rule("Storing and reading take no number of the sequence.") { tested in
            let before = tested.sequence
            try await tested.mustPut(tested.draft(try tested.key("/x")), tested.body("x"))
            _ = try await tested.texts(try tested.key("/x"))
            tested.findings.equal(tested.sequence, before, "the sequence")
        },
        Rule(
            "A response whose fetch began before an invalidation of its key, target, prefix, tag or of all responses is not stored."
        ) {
            tested in
            let key = try tested.key("/x")
            for scope in try scopes(tested) {
                for soft in [true, false] {
                    let fencingNumber = tested.sequence
                    try await tested.invalidate(scope, soft: soft)
                    let late = try await tested.put(
                        tested.draft(key, tags: ["s", "t"]),
                        tested.body("late"),
                        fencingNumber
                    )
                    tested.findings.expect(late == nil, "\(scope.word), \(soft ? "soft" : "hard"): it was stored")
                    let writer = try await tested.begin(tested.draft(key, tags: ["t"]))
                    try await writer.append(tested.noise(StoreUnderTest.large))
                    try await tested.invalidate(scope, soft: soft)
                    let during = try await writer.finish()
                    tested.findings.expect(during == nil, "\(scope.word), between 'append' and 'finish': it was stored")
                    tested.findings.equal(try await tested.store.lookup(key).count, 0, "\(scope.word): responses")
                }
            }
        },
        Rule("A fetch that began after an invalidation is stored; so is a fetch that the invalidation does not cover.")
        {
            tested in
            let key = try tested.key("/x")
            for scope in try scopes(tested) {
                try await tested.invalidate(scope, soft: true)
                let stored = try await tested.put(tested.draft(key, tags: ["t"]), tested.body("x"))
                tested.findings.expect(
                    stored != nil,
                    "\(scope.word): an in-flight fetch that began later was not stored"
                )
                tested.findings.equal(
                    try await tested.mark(key),
                    false,
                    "\(scope.word): the mark of the response that was stored later"
                )
            }
            let fencingNumber = tested.sequence
            for scope in try scopes(tested) where scope != .all && scope.word != "prefix" {
                try await tested.invalidate(scope, soft: false)
            }
            // On its own origin, a prefix may affect more than it covers.
            try await tested.invalidate(.prefix(try TargetPrefix("https://store.example.evil/")), soft: false)
            let other = try await tested.put(
                tested.draft(try tested.key("/y"), tags: ["u"]),
                tested.body("y"),
                fencingNumber
            )
            tested.findings.expect(other != nil, "a response with another key, target and tag was not stored")
        },
        Rule("'keepingForOffline' marks a response and keeps it; otherwise the response is removed.") { tested in
            let key = try tested.key("/x")
            for scope in try scopes(tested) {
                try await tested.mustPut(tested.draft(key, tags: ["t"]), tested.body("x"))
                try await tested.invalidate(scope, soft: true)
                tested.findings.equal(try await tested.mark(key), true, "\(scope.word), soft: the mark")
                tested.findings.equal(try await tested.texts(key), ["x"], "\(scope.word), soft: the bodies")
                try await tested.invalidate(scope, soft: false)
                tested.findings.equal(try await tested.store.lookup(key).count, 0, "\(scope.word), hard: responses")
                tested.findings.expect(
                    tested.store.resident(key) ?? [] == [],
                    "\(scope.word), hard: 'resident' still returns it"
                )
            }
        },
        Rule(
            "An invalidation of a target covers all partitions, method classes and variants; an invalidation of a key covers only its variants."
        ) {
            tested in
            let content = StoreKey.Content(type: nil, coding: nil, sha256: [UInt8](repeating: 3, count: 32))
            let key = try tested.key("/x")
            let siblings = [
                try tested.key("/x", .principal("p")), try tested.key("/x", .credentials([1, 2])),
                try tested.key("/x", method: .post, content: content),
            ]
            let strangers = [try tested.key("/x?"), try tested.key("/x/"), try tested.key("/y")]
            for soft in [true, false] {
                let after: Bool? = soft ? true : nil
                for key in [key] + siblings + strangers {
                    try await tested.mustPut(tested.draft(key), tested.body("x"))
                }
                let variant = tested.draft(key, fields: [.vary: "accept"], selecting: [.accept: "a"])
                try await tested.mustPut(variant, tested.body("variant"))
                try await tested.invalidate(.key(key), soft: soft)
                let found = try await tested.store.lookup(key).map(\.head.isInvalidated)
                tested.findings.equal(found, soft ? [true, true] : [], "key, \(soft ? "soft" : "hard"): its variants")
                for other in siblings + strangers {
                    tested.findings.equal(try await tested.mark(other), false, "key: another key's mark")
                }
                try await tested.invalidate(.target(try tested.target("/x")), soft: soft)
                for sibling in siblings {
                    tested.findings.equal(try await tested.mark(sibling), after, "target: \(sibling.components.method)")
                }
                for stranger in strangers {
                    tested.findings.equal(
                        try await tested.mark(stranger),
                        false,
                        "target: \(stranger.components.target)"
                    )
                }
            }
        },
        Rule(
            "An invalidation's cause is kept until the response is freshened or replaced. If there are two causes, the greater is kept."
        ) {
            tested in
            let key = try tested.key("/x")
            let scopes = [.key(key), .target(try tested.target("/x")), InvalidationScope.tag("t")]
            for scope in scopes {
                for causes in [[.unsafeMethod], [.unspecified, .unsafeMethod], [.unsafeMethod, .unspecified]]
                    as [[InvalidationCause]]
                {
                    let stored = try await tested.mustPut(tested.draft(key, tags: ["t"]), tested.body("x"))
                    tested.findings.equal(
                        try await tested.cause(key),
                        nil,
                        "\(scope.word): the cause of a new response"
                    )
                    for cause in causes {
                        try await tested.store.invalidate(scope, .mark(cause), at: StoreUnderTest.now)
                    }
                    tested.findings.equal(
                        try await tested.cause(key),
                        .unsafeMethod,
                        "\(scope.word): the cause after \(causes)"
                    )
                    let resident = tested.store.resident(key)?.first?.head.invalidation
                    tested.findings.expect(
                        resident ?? .unsafeMethod == .unsafeMethod,
                        "\(scope.word): 'resident' returns \(resident.map { "\($0)" } ?? "nothing")"
                    )
                    let renewal = tested.renewal(stored, tags: ["t"])
                    _ = try await tested.store.freshen(stored, with: renewal, fencingNumber: tested.sequence)
                    tested.findings.equal(try await tested.cause(key), nil, "\(scope.word): the cause after 'freshen'")
                    try await tested.store.invalidate(scope, .mark(.unspecified), at: StoreUnderTest.now)
                    tested.findings.equal(
                        try await tested.cause(key),
                        .unspecified,
                        "\(scope.word): the cause of the next invalidation"
                    )
                }
            }
        },
        Rule(
            "An invalidation of a principal covers all responses in this principal's partitions, including those of its credentials, and nothing else."
        ) {
            tested in
            let hers = [
                try tested.key("/x", .principal("ada")), try tested.key("/y?a", .principal("ada")),
                try tested.key("/x", .credentials([UInt8](repeating: 7, count: 32), of: "ada")),
            ]
            let others = [
                try tested.key("/x"), try tested.key("/x", .principal("ada2")), try tested.key("/x", .principal("ad")),
                try tested.key("/x", .principal("Ada")), try tested.key("/x", .principal("")),
                try tested.key("/x", .credentials([UInt8](repeating: 7, count: 32))),
                try tested.key("/x", .credentials([UInt8](repeating: 7, count: 32), of: "bob")),
            ]
            for soft in [true, false] {
                for key in hers + others { try await tested.mustPut(tested.draft(key), tested.body("x")) }
                let fencingNumber = tested.sequence
                try await tested.invalidate(.principal("ada"), soft: soft)
                for key in hers {
                    tested.findings.equal(try await tested.mark(key), soft ? true : nil, "a mark for the principal")
                }
                for key in others {
                    tested.findings.equal(try await tested.mark(key), false, "a mark for another owner")
                }
                for key in hers {
                    let late = try await tested.put(tested.draft(key), tested.body("late"), fencingNumber)
                    tested.findings.expect(late == nil, "an earlier fetch of the principal was stored")
                }
                for key in others {
                    let late = try await tested.put(tested.draft(key), tested.body("late"), fencingNumber)
                    tested.findings.expect(late != nil, "an earlier fetch of another owner was not stored")
                }
                let again = try await tested.put(tested.draft(hers[0]), tested.body("again"))
                tested.findings.expect(again != nil, "a later fetch of the principal was not stored")
            }
        },
        Rule("An invalidation that covers no stored response is not an error.") { tested in
            for scope in try scopes(tested) + [.principal("nobody")] {
                for soft in [true, false] { try await tested.invalidate(scope, soft: soft) }
            }
        },
    ]

    /// Rules for invalidation by tag.
    static let tagging: [Rule] = [
        Rule("A tag is invalidated for all responses that carry it, in all partitions, and for no others.") { tested in
            let carrying = [
                try tested.key("/a"), try tested.key("/b"), try tested.key("/a", .principal("p")),
                try tested.key("/a", .principal("q")),
            ]
            let others = [try tested.key("/c"), try tested.key("/d")]
            for soft in [true, false] {
                let after: Bool? = soft ? true : nil
                for key in carrying {
                    try await tested.mustPut(tested.draft(key, tags: ["s", "t", "t"]), tested.body("x"))
                }
                try await tested.mustPut(tested.draft(others[0], tags: ["T", "tt", "s", ""]), tested.body("x"))
                try await tested.mustPut(tested.draft(others[1]), tested.body("x"))
                try await tested.invalidate(.tag("t"), soft: soft)
                for key in carrying {
                    tested.findings.equal(try await tested.mark(key), after, "the mark of a response with the tag")
                }
                for key in others {
                    tested.findings.equal(try await tested.mark(key), false, "the mark of a response without the tag")
                }
            }
        },
        Rule("A response that replaces another has only its own tags.") { tested in
            let key = try tested.key("/x")
            try await tested.mustPut(tested.draft(key, tags: ["old"]), tested.body("x"))
            try await tested.mustPut(tested.draft(key, tags: ["new"]), tested.body("x"))
            try await tested.invalidate(.tag("old"), soft: true)
            tested.findings.equal(try await tested.mark(key), false, "the mark after 'old' was invalidated")
            try await tested.invalidate(.tag("new"), soft: true)
            tested.findings.equal(try await tested.mark(key), true, "the mark after 'new' was invalidated")
        },
        Rule("An invalidation of a tag is in force when the call returns, for any number of responses.") { tested in
            for index in 0..<300 {
                try await tested.mustPut(tested.draft(try tested.key("/\(index)"), tags: ["t"]), tested.body("x"))
            }
            try await tested.invalidate(.tag("t"), soft: true)
            for index in stride(from: 299, through: 0, by: -1) {
                tested.findings.equal(
                    try await tested.mark(try tested.key("/\(index)")),
                    true,
                    "the mark of number \(index)"
                )
            }
            try await tested.invalidate(.tag("t"), soft: false)
            for index in stride(from: 299, through: 0, by: -1) {
                tested.findings.equal(
                    try await tested.mark(try tested.key("/\(index)")),
                    nil,
                    "number \(index), removed"
                )
            }
        },
    ]
}
