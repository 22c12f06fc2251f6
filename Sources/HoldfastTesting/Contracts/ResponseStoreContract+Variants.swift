import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for keys and their variants.
    static let variants: [Rule] = [
        Rule(
            "A new response replaces the stored response that has the same key, Vary and selecting fields."
        ) {
            tested in
            let key = try tested.key("/x")
            let draft = tested.draft(key, fields: [.vary: "accept"], selecting: [.accept: "a"])
            for round in 0..<4 { try await tested.mustPut(draft, tested.body("\(round)")) }
            tested.findings.equal(try await tested.texts(key), ["3"], "the bodies")
        },
        Rule("A response with other selecting fields is another variant of its key.") { tested in
            let key = try tested.key("/x")
            for value in ["a", "b", "a", ""] {
                let draft = tested.draft(key, fields: [.vary: "accept"], selecting: [.accept: value])
                try await tested.mustPut(draft, tested.body("of " + value))
            }
            try await tested.mustPut(tested.draft(key, fields: [.vary: "accept"]), tested.body("without"))
            tested.findings.equal(try await tested.texts(key), ["of ", "of a", "of b", "without"], "the bodies")
        },
        Rule("Withdrawing a response removes only that response: other variants and in-flight fetches stay.") {
            tested in
            let key = try tested.key("/x")
            func draft(_ value: String) -> ResponseDraft {
                tested.draft(key, fields: [.vary: "accept"], selecting: [.accept: value])
            }
            let fencingNumber = tested.sequence
            try await tested.mustPut(draft("a"), tested.body("of a"))
            let wrong = try await tested.mustPut(draft("b"), tested.body("of b"))
            let renewal = tested.renewal(wrong, fields: [.vary: "accept", .eTag: "\"2\""])
            _ = try await tested.store.freshen(wrong, with: renewal, fencingNumber: tested.sequence)
            tested.findings.expect(try await tested.store.withdraw(wrong), "it was not found by its new head")
            tested.findings.expect(try await !tested.store.withdraw(wrong), "the response was withdrawn twice")
            tested.findings.equal(try await tested.texts(key), ["of a"], "the bodies")
            let writer = try await tested.begin(draft("c"), fencingNumber)
            try await writer.append(tested.body("of c"))
            tested.findings.expect(
                try await writer.finish() != nil,
                "an in-flight fetch that began earlier was not stored"
            )
        },
        Rule("A response is withdrawn unless another has replaced it.") { tested in
            let key = try tested.key("/x")
            let wrong = try await tested.mustPut(tested.draft(key), tested.body("wrong"))
            try await tested.mustPut(tested.draft(key), tested.body("right"))
            tested.findings.expect(try await !tested.store.withdraw(wrong), "its replacement was withdrawn")
            tested.findings.equal(try await tested.texts(key), ["right"], "the bodies")
        },
        Rule("Keys that differ in one part have nothing in common.") { tested in
            let long = "/" + String(repeating: "long/", count: 1500)
            let content = StoreKey.Content(
                type: "application/json",
                coding: nil,
                sha256: [UInt8](repeating: 1, count: 32)
            )
            let other = StoreKey.Content(
                type: "application/json",
                coding: nil,
                sha256: [UInt8](repeating: 2, count: 32)
            )
            let keys = [
                try tested.key("/a"), try tested.key("/a?"), try tested.key("/a?b"), try tested.key("/A"),
                try tested.key("/a/"),
                try tested.key("/a", .principal("p")), try tested.key("/a", .principal("q")),
                try tested.key("/a", .credentials([112])), try tested.key("/a", method: .post, content: content),
                try tested.key("/a", method: .post, content: other), try tested.key(long + "1"),
                try tested.key(long + "2"),
                try tested.key(long + "1", .principal("p")),
            ]
            for (index, key) in keys.enumerated() {
                try await tested.mustPut(tested.draft(key), tested.body("\(index)"))
            }
            for (index, key) in keys.enumerated() {
                tested.findings.equal(try await tested.texts(key), ["\(index)"], "the bodies of key \(index)")
            }
            try await tested.invalidate(.key(keys[0]), soft: false)
            tested.findings.equal(try await tested.texts(keys[0]), [], "the bodies of the removed key")
            for (index, key) in keys.enumerated().dropFirst() {
                tested.findings.equal(
                    try await tested.texts(key),
                    ["\(index)"],
                    "the bodies of key \(index), after another key was removed"
                )
            }
        },
    ]
}
