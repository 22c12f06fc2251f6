import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Invalidation by prefix.
    static let prefixing: [Rule] = [
        Rule(
            "An invalidation of a prefix covers exactly the targets that begin with it, in all partitions, method classes and variants."
        ) {
            bench in
            let content = CacheKey.Content(type: nil, coding: nil, sha256: [UInt8](repeating: 3, count: 32))
            let covered = [
                try bench.key("/img/"), try bench.key("/img/a"), try bench.key("/img/a", .principal("p")),
                try bench.key("/img/a?b", .credentials([1, 2])),
                try bench.key("/img/a/b", method: .post, content: content),
            ]
            let others = [
                try bench.key("/img"), try bench.key("/img?/"), try bench.key("/imga/"), try bench.key("/IMG/"),
                try bench.key("/"), try bench.key("/x/img/"),
                CacheKey(target: try TargetURI("http://store.example/img/")),
                CacheKey(target: try TargetURI("https://store.example:444/img/")),
                CacheKey(target: try TargetURI("https://store.example.evil/img/")),
            ]
            for soft in [true, false] {
                for key in covered + others { try await bench.mustPut(bench.draft(key), bench.body("x")) }
                let variant = bench.draft(covered[1], fields: [.vary: "accept"], selecting: [.accept: "a"])
                try await bench.mustPut(variant, bench.body("variant"))
                try await bench.invalidate(.prefix(try bench.prefix("/img/")), soft: soft)
                for key in covered {
                    let found = Set(try await bench.store.lookup(key).map(\.head.isInvalidated))
                    bench.findings.equal(found, soft ? [true] : [], "the marks of \(key.components.target)")
                }
                for key in others {
                    bench.findings.equal(try await bench.mark(key), false, "the mark of \(key.components.target)")
                }
            }
        },
        Rule("A prefix may end anywhere in a path or a query; without a path, it covers a whole origin.") { bench in
            let cases: [(prefix: String, covered: [String], others: [String])] = [
                ("/li", ["/li", "/list", "/li?", "/li/"], ["/l", "/Li"]),
                ("/list?page=", ["/list?page=", "/list?page=1&x"], ["/list", "/list?", "/list?pag", "/list/?page=1"]),
                ("/list?", ["/list?", "/list?a"], ["/list", "/list/?"]),
                ("", ["/", "/a", "/?a"], []),
            ]
            for (prefix, covered, others) in cases {
                for path in covered + others {
                    try await bench.mustPut(bench.draft(try bench.key(path)), bench.body("x"))
                }
                try await bench.invalidate(.prefix(try bench.prefix(prefix)), soft: true)
                for path in covered + others {
                    bench.findings.equal(
                        try await bench.mark(try bench.key(path)),
                        covered.contains(path),
                        "the mark of '\(path)' after '\(prefix)'"
                    )
                }
            }
        },
        Rule(
            "If several prefixes cover a response, the strictest one applies. Responses that are stored later are not affected."
        ) {
            bench in
            for softs in [[true, false], [false, true], [true, true]] {
                let keys = try ["/a/b/c", "/a/b", "/a/x"].map { try bench.key($0) }
                for key in keys { try await bench.mustPut(bench.draft(key), bench.body("x")) }
                try await bench.invalidate(.prefix(try bench.prefix("/a/b")), soft: softs[0])
                try await bench.mustPut(bench.draft(try bench.key("/a/b/later")), bench.body("x"))
                try await bench.invalidate(.prefix(try bench.prefix("/a/b/c")), soft: softs[1])
                let words = softs.map { $0 ? "soft" : "hard" }.joined(separator: ", then ")
                let expected: [Bool?] = [softs == [true, true] ? true : nil, softs[0] ? true : nil, false]
                for (key, expected) in zip(keys, expected) {
                    bench.findings.equal(try await bench.mark(key), expected, "\(words): \(key.components.target)")
                }
                bench.findings.equal(
                    try await bench.mark(try bench.key("/a/b/later")),
                    false,
                    "\(words): the later one"
                )
                let again = try await bench.put(bench.draft(keys[0]), bench.body("again"))
                bench.findings.expect(again != nil, "\(words): a fill that began later was not stored")
                bench.findings.equal(try await bench.mark(keys[0]), false, "\(words): what was stored again")
                bench.findings.equal(try await bench.texts(keys[0]), ["again"], "\(words): the bodies")
            }
        },
        Rule("An invalidation of a prefix is in force when it returns, however many responses it covers.") { bench in
            for index in 0..<300 {
                try await bench.mustPut(bench.draft(try bench.key("/p/\(index)")), bench.body("x"))
            }
            for soft in [true, false] {
                try await bench.invalidate(.prefix(try bench.prefix("/p/")), soft: soft)
                for index in stride(from: 299, through: 0, by: -1) {
                    bench.findings.equal(
                        try await bench.mark(try bench.key("/p/\(index)")),
                        soft ? true : nil,
                        "\(soft ? "soft" : "hard"): the mark of number \(index)"
                    )
                }
            }
        },
        Rule("Many prefixes at a time invalidate all responses that they cover, and no others.") {
            bench in
            for index in 0..<100 {
                try await bench.mustPut(bench.draft(try bench.key("/\(index)/")), bench.body("x"))
            }
            try await bench.mustPut(bench.draft(try bench.key("/other")), bench.body("x"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<100 {
                    group.addTask {
                        try await bench.invalidate(.prefix(try bench.prefix("/\(index)/")), soft: index % 4 == 0)
                    }
                }
                try await group.waitForAll()
            }
            for index in 0..<100 {
                let mark = try await bench.mark(try bench.key("/\(index)/"))
                bench.findings.equal(mark, index % 4 == 0 ? true : nil, "the mark of number \(index)")
            }
            bench.findings.expect(try await bench.mark(try bench.key("/other")) != nil, "another one was removed")
        },
    ]
}
