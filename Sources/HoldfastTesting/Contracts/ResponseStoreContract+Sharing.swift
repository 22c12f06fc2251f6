import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Rules for many concurrent tasks.
    static let sharing: [Rule] = [
        Rule("Readers see whole responses while writers replace and invalidate them.") { tested in
            let keys = try (0..<4).map { try tested.key("/\($0)") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<6 {
                    group.addTask {
                        var random = tested.random(UInt64(100 + task))
                        for _ in 0..<25 {
                            let key = keys[Int.random(in: keys.indices, using: &random)]
                            switch Int.random(in: 0..<6, using: &random) {
                            case 0...1:
                                let length = Int.random(in: 0...150_000, using: &random)
                                try await tested.put(tested.draft(key, tags: ["t"]), tested.noise(length))
                            case 2:
                                let scope =
                                    [InvalidationScope.key(key), .tag("t")].randomElement(using: &random) ?? .all
                                try await tested.invalidate(scope, soft: Bool.random(using: &random))
                            default: try await readAll(key, tested)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for key in keys {
                let count = try await tested.store.lookup(key).count
                tested.findings.expect(count <= 1, "\(count) responses of one variant are left")
            }
        },
        Rule("Concurrent invalidations have different numbers, and the sequence ends at the last of them.") {
            tested in
            let key = try tested.key("/x")
            let numbers = try await withThrowingTaskGroup(of: InvalidationSequence.self) { group in
                for index in 0..<24 {
                    group.addTask {
                        try await tested.invalidate(index % 2 == 0 ? .key(key) : .tag("t"), soft: index % 3 == 0)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            tested.findings.equal(Set(numbers).count, 24, "distinct numbers of 24 invalidations")
            tested.findings.equal(tested.sequence, numbers.max() ?? tested.sequence, "the sequence")
        },
        Rule("When an invalidation and fetches overlap, no response whose fetch began first stays unmarked.") {
            tested in
            for round in 0..<20 {
                let key = try tested.key("/\(round)")
                let fencingNumber = tested.sequence
                let writers = try await withThrowingTaskGroup(of: (any StoredResponseWriter).self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            let writer = try await tested.begin(tested.draft(key, tags: ["t"]), fencingNumber)
                            try await writer.append(tested.body("early"))
                            return writer
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in writers { group.addTask { _ = try await writer.finish() } }
                    group.addTask {
                        try await tested.invalidate(
                            round % 2 == 0 ? .tag("t") : .target(key.components.target),
                            soft: true
                        )
                    }
                    try await group.waitForAll()
                }
                tested.findings.expect(
                    try await tested.mark(key) != false,
                    "round \(round): a response is served as if there had been no invalidation"
                )
            }
        },
    ]

    /// Checks that each response under a key has a body of the stated length with the bytes for
    /// that length.
    private static func readAll(_ key: StoreKey, _ tested: StoreUnderTest) async throws {
        for response in try await tested.store.lookup(key) {
            tested.findings.expect(response.key == key, "a response of another key was found")
            guard let body = try await tested.read(response) else { continue }
            let length = Int(response.bodyLength)
            tested.findings.expect(body == tested.noise(length), "a body of \(length) bytes came back changed")
        }
    }
}
