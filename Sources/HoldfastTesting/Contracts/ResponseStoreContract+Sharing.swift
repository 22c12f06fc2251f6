import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension ResponseStoreContract {
    /// Many tasks at the same time.
    static let sharing: [Rule] = [
        Rule("Readers see whole responses while writers replace and invalidate them.") { bench in
            let keys = try (0..<4).map { try bench.key("/\($0)") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<6 {
                    group.addTask {
                        var random = bench.random(UInt64(100 + task))
                        for _ in 0..<25 {
                            let key = keys[Int.random(in: keys.indices, using: &random)]
                            switch Int.random(in: 0..<6, using: &random) {
                            case 0...1:
                                let length = Int.random(in: 0...150_000, using: &random)
                                try await bench.put(bench.draft(key, tags: ["t"]), bench.noise(length))
                            case 2:
                                let scope =
                                    [InvalidationScope.key(key), .tag("t")].randomElement(using: &random) ?? .all
                                try await bench.invalidate(scope, soft: Bool.random(using: &random))
                            default: try await readAll(key, bench)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for key in keys {
                let count = try await bench.store.lookup(key).count
                bench.findings.expect(count <= 1, "\(count) responses of one variant are left")
            }
        },
        Rule("Concurrent invalidations have different numbers, and the sequence ends at the last of them.") {
            bench in
            let key = try bench.key("/x")
            let numbers = try await withThrowingTaskGroup(of: InvalidationSequence.self) { group in
                for index in 0..<24 {
                    group.addTask {
                        try await bench.invalidate(index % 2 == 0 ? .key(key) : .tag("t"), soft: index % 3 == 0)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            bench.findings.equal(Set(numbers).count, 24, "different numbers of 24 invalidations")
            bench.findings.equal(bench.sequence, numbers.max() ?? bench.sequence, "the sequence")
        },
        Rule("When an invalidation and fetches overlap, no response whose fetch began first stays unmarked.") { bench in
            for round in 0..<20 {
                let key = try bench.key("/\(round)")
                let fence = bench.sequence
                let writers = try await withThrowingTaskGroup(of: (any ResponseWriter).self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            let writer = try await bench.begin(bench.draft(key, tags: ["t"]), fence)
                            try await writer.append(bench.body("early"))
                            return writer
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in writers { group.addTask { _ = try await writer.finish() } }
                    group.addTask {
                        try await bench.invalidate(
                            round % 2 == 0 ? .tag("t") : .target(key.components.target),
                            soft: true
                        )
                    }
                    try await group.waitForAll()
                }
                bench.findings.expect(
                    try await bench.mark(key) != false,
                    "round \(round): one is served as if there had been no invalidation"
                )
            }
        },
    ]

    /// Every response of a key has a body of its length, with the bytes that belong to this length.
    private static func readAll(_ key: CacheKey, _ bench: StoreBench) async throws {
        for response in try await bench.store.lookup(key) {
            bench.findings.expect(response.key == key, "a response of another key was found")
            guard let body = try await bench.read(response) else { continue }
            let length = Int(response.bodyLength)
            bench.findings.expect(body == bench.noise(length), "a body of \(length) bytes came back as others")
        }
    }
}
