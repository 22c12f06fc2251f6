import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for invalidation by prefix.
    static let prefixing: [Rule] = [
        Rule(
            "An invalidation of a prefix covers exactly the targets that begin with it, in all partitions, method classes and variants."
        ) {
            tested in
            let content = StoreKey.Content(type: nil, coding: nil, sha256: [UInt8](repeating: 3, count: 32))
            let covered = [
                try tested.key("/img/"), try tested.key("/img/a"), try tested.key("/img/a", .principal("p")),
                try tested.key("/img/a?b", .credentials([1, 2])),
                try tested.key("/img/a/b", method: .post, content: content),
            ]
            let others = [
                try tested.key("/img"), try tested.key("/img?/"), try tested.key("/imga/"), try tested.key("/IMG/"),
                try tested.key("/"), try tested.key("/x/img/"),
                StoreKey(target: try TargetURI("http://store.example/img/")),
                StoreKey(target: try TargetURI("https://store.example:444/img/")),
                StoreKey(target: try TargetURI("https://store.example.evil/img/")),
            ]
            for soft in [true, false] {
                for key in covered + others { try await tested.mustPut(tested.draft(key), tested.body("x")) }
                let variant = tested.draft(covered[1], fields: [.vary: "accept"], selecting: [.accept: "a"])
                try await tested.mustPut(variant, tested.body("variant"))
                try await tested.invalidate(.prefix(try tested.prefix("/img/")), soft: soft)
                for key in covered {
                    let found = Set(try await tested.store.lookup(key).map(\.head.isInvalidated))
                    tested.findings.equal(found, soft ? [true] : [], "the marks of \(key.components.target)")
                }
                for key in others {
                    tested.findings.equal(try await tested.mark(key), false, "the mark of \(key.components.target)")
                }
            }
        },
        Rule("A prefix may end anywhere in a path or a query; without a path, it covers a whole origin.") { tested in
            let cases: [(prefix: String, covered: [String], others: [String])] = [
                ("/li", ["/li", "/list", "/li?", "/li/"], ["/l", "/Li"]),
                ("/list?page=", ["/list?page=", "/list?page=1&x"], ["/list", "/list?", "/list?pag", "/list/?page=1"]),
                ("/list?", ["/list?", "/list?a"], ["/list", "/list/?"]),
                ("", ["/", "/a", "/?a"], []),
            ]
            for (prefix, covered, others) in cases {
                for path in covered + others {
                    try await tested.mustPut(tested.draft(try tested.key(path)), tested.body("x"))
                }
                try await tested.invalidate(.prefix(try tested.prefix(prefix)), soft: true)
                for path in covered + others {
                    tested.findings.equal(
                        try await tested.mark(try tested.key(path)),
                        covered.contains(path),
                        "the mark of '\(path)' after '\(prefix)'"
                    )
                }
            }
        },
        Rule(
            "If several prefix invalidations cover a response, a hard invalidation overrides a soft one. Responses that are stored later are not affected."
        ) {
            tested in
            for softs in [[true, false], [false, true], [true, true]] {
                let keys = try ["/a/b/c", "/a/b", "/a/x"].map { try tested.key($0) }
                for key in keys { try await tested.mustPut(tested.draft(key), tested.body("x")) }
                try await tested.invalidate(.prefix(try tested.prefix("/a/b")), soft: softs[0])
                try await tested.mustPut(tested.draft(try tested.key("/a/b/later")), tested.body("x"))
                try await tested.invalidate(.prefix(try tested.prefix("/a/b/c")), soft: softs[1])
                let words = softs.map { $0 ? "soft" : "hard" }.joined(separator: ", then ")
                let expected: [Bool?] = [softs == [true, true] ? true : nil, softs[0] ? true : nil, false]
                for (key, expected) in zip(keys, expected) {
                    tested.findings.equal(try await tested.mark(key), expected, "\(words): \(key.components.target)")
                }
                tested.findings.equal(
                    try await tested.mark(try tested.key("/a/b/later")),
                    false,
                    "\(words): the response stored later"
                )
                let again = try await tested.put(tested.draft(keys[0]), tested.body("again"))
                tested.findings.expect(again != nil, "\(words): an in-flight fetch that began later was not stored")
                tested.findings.equal(try await tested.mark(keys[0]), false, "\(words): the response stored again")
                tested.findings.equal(try await tested.texts(keys[0]), ["again"], "\(words): the bodies")
            }
        },
        Rule("An invalidation of a prefix is in force when the call returns, for any number of responses.") { tested in
            for index in 0..<300 {
                try await tested.mustPut(tested.draft(try tested.key("/p/\(index)")), tested.body("x"))
            }
            for soft in [true, false] {
                try await tested.invalidate(.prefix(try tested.prefix("/p/")), soft: soft)
                for index in stride(from: 299, through: 0, by: -1) {
                    tested.findings.equal(
                        try await tested.mark(try tested.key("/p/\(index)")),
                        soft ? true : nil,
                        "\(soft ? "soft" : "hard"): the mark of number \(index)"
                    )
                }
            }
        },
        Rule("Concurrent invalidations of many prefixes affect all responses that they cover, and no others.") {
            tested in
            for index in 0..<100 {
                try await tested.mustPut(tested.draft(try tested.key("/\(index)/")), tested.body("x"))
            }
            try await tested.mustPut(tested.draft(try tested.key("/other")), tested.body("x"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<100 {
                    group.addTask {
                        try await tested.invalidate(.prefix(try tested.prefix("/\(index)/")), soft: index % 4 == 0)
                    }
                }
                try await group.waitForAll()
            }
            for index in 0..<100 {
                let mark = try await tested.mark(try tested.key("/\(index)/"))
                tested.findings.equal(mark, index % 4 == 0 ? true : nil, "the mark of number \(index)")
            }
            tested.findings.expect(try await tested.mark(try tested.key("/other")) != nil, "'/other' was removed")
        },
    ]
}
