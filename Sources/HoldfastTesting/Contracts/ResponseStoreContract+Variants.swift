import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Keys and their variants.
    static let variants: [Rule] = [
        Rule(
            "A new response replaces the one with the same key, the same Vary and the same selecting fields."
        ) {
            bench in
            let key = try bench.key("/x")
            let draft = bench.draft(key, fields: [.vary: "accept"], selecting: [.accept: "a"])
            for round in 0..<4 { try await bench.mustPut(draft, bench.body("\(round)")) }
            bench.findings.equal(try await bench.texts(key), ["3"], "the bodies")
        },
        Rule("A response with other selecting fields is another variant of its key.") { bench in
            let key = try bench.key("/x")
            for value in ["a", "b", "a", ""] {
                let draft = bench.draft(key, fields: [.vary: "accept"], selecting: [.accept: value])
                try await bench.mustPut(draft, bench.body("of " + value))
            }
            try await bench.mustPut(bench.draft(key, fields: [.vary: "accept"]), bench.body("without"))
            bench.findings.equal(try await bench.texts(key), ["of ", "of a", "of b", "without"], "the bodies")
        },
        Rule("Withdrawing a response removes only that response: other variants and in-flight fetches stay.") { bench in
            let key = try bench.key("/x")
            func draft(_ value: String) -> ResponseDraft {
                bench.draft(key, fields: [.vary: "accept"], selecting: [.accept: value])
            }
            let fence = bench.sequence
            try await bench.mustPut(draft("a"), bench.body("of a"))
            let wrong = try await bench.mustPut(draft("b"), bench.body("of b"))
            let renewal = bench.renewal(wrong, fields: [.vary: "accept", .eTag: "\"2\""])
            _ = try await bench.store.freshen(wrong, with: renewal, fence: bench.sequence)
            bench.findings.expect(try await bench.store.withdraw(wrong), "it was not found under its new head")
            bench.findings.expect(try await !bench.store.withdraw(wrong), "it was withdrawn twice")
            bench.findings.equal(try await bench.texts(key), ["of a"], "the bodies")
            let writer = try await bench.begin(draft("c"), fence)
            try await writer.append(bench.body("of c"))
            bench.findings.expect(try await writer.finish() != nil, "a fill that began before is not stored")
        },
        Rule("A response is withdrawn unless another has replaced it.") { bench in
            let key = try bench.key("/x")
            let wrong = try await bench.mustPut(bench.draft(key), bench.body("wrong"))
            try await bench.mustPut(bench.draft(key), bench.body("right"))
            bench.findings.expect(try await !bench.store.withdraw(wrong), "its replacement was withdrawn")
            bench.findings.equal(try await bench.texts(key), ["right"], "the bodies")
        },
        Rule("Keys that differ in one part have nothing in common.") { bench in
            let long = "/" + String(repeating: "long/", count: 1500)
            let content = CacheKey.Content(
                type: "application/json",
                coding: nil,
                sha256: [UInt8](repeating: 1, count: 32)
            )
            let other = CacheKey.Content(
                type: "application/json",
                coding: nil,
                sha256: [UInt8](repeating: 2, count: 32)
            )
            let keys = [
                try bench.key("/a"), try bench.key("/a?"), try bench.key("/a?b"), try bench.key("/A"),
                try bench.key("/a/"),
                try bench.key("/a", .principal("p")), try bench.key("/a", .principal("q")),
                try bench.key("/a", .credentials([112])), try bench.key("/a", method: .post, content: content),
                try bench.key("/a", method: .post, content: other), try bench.key(long + "1"),
                try bench.key(long + "2"),
                try bench.key(long + "1", .principal("p")),
            ]
            for (index, key) in keys.enumerated() { try await bench.mustPut(bench.draft(key), bench.body("\(index)")) }
            for (index, key) in keys.enumerated() {
                bench.findings.equal(try await bench.texts(key), ["\(index)"], "the bodies of key \(index)")
            }
            try await bench.invalidate(.key(keys[0]), soft: false)
            bench.findings.equal(try await bench.texts(keys[0]), [], "the bodies of the removed key")
            for (index, key) in keys.enumerated().dropFirst() {
                bench.findings.equal(
                    try await bench.texts(key),
                    ["\(index)"],
                    "the bodies of key \(index), another one removed"
                )
            }
        },
    ]
}
