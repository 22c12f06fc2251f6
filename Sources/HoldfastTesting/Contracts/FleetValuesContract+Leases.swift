import FleetTier
import NIOCore

extension FleetValuesContract {
    /// `chunks` and `putChunks`.
    static let chunking: [Rule] = [
        Rule("Chunks come back as they were put, in the order of their names.") { bench in
            let node = try await bench.node()
            let chunks = (1...ValueLimits.mostChunks).map { bench.chunk($0) }
            try await node.putChunks(chunks)
            let names = (0...6).map { bench.name($0) }
            let found = try await bench.node().chunks(names.reversed())
            let expected = [nil] + chunks.prefix(6).map(\.bytes)
            bench.findings.expect(found == expected.reversed(), "other chunks, or in another order")
            bench.findings.equal(try await node.chunks([]).count, 0, "chunks for no name")
            try await node.putChunks([])
        },
        Rule("Too many chunks at once, and chunks that are too long, are rejected.") { bench in
            let node = try await bench.node()
            await bench.expectLimit("too many names") { () async throws(FleetLogError) in
                _ = try await node.values.chunks(
                    (0...ValueLimits.mostChunks).map { bench.name($0) },
                    within: bench.limit
                )
            }
            let many = (0...ValueLimits.mostChunks).map { bench.chunk($0, length: 10) }
            let long = [bench.chunk(1, length: ValueLimits.longestChunk + 1)]
            for chunks in [many, long] {
                await bench.expectLimit("chunks") { () async throws(FleetLogError) in
                    try await node.values.putChunks(chunks, for: FleetValuesBench.long, within: bench.limit)
                }
            }
            bench.findings.expect(try await node.value(bench.name(1)) == nil, "some were put")
        },
        Rule("A chunk is gone when its lifetime is over.") { bench in
            let node = try await bench.node()
            try await node.putChunks([bench.chunk(1)], for: FleetValuesBench.short)
            try await bench.wait { try await node.chunks([bench.name(1)]) == [nil] }
        },
        Rule("Many bodies at once are all written and read.") { bench in
            let node = try await bench.node()
            try await withThrowingTaskGroup { group in
                for body in 0..<12 {
                    group.addTask {
                        let chunks = (0..<ValueLimits.mostChunks).map { bench.chunk(100 * body + $0) }
                        try await node.putChunks(chunks)
                        let found = try await node.chunks(chunks.map(\.name))
                        bench.findings.expect(found == chunks.map(\.bytes), "body \(body) is another one")
                    }
                }
                try await group.waitForAll()
            }
        },
    ]

    /// Leases.
    static let leading: [Rule] = [
        Rule("One node leads at a time, until it releases its lease.") { bench in
            let (one, other) = (try await bench.node(), try await bench.node())
            bench.findings.equal(try await one.look(bench.lease(1)).lease, .free, "the lease before")
            bench.findings.equal(try await one.lead(bench.lease(1)), .led, "the first one")
            bench.findings.equal(try await other.lead(bench.lease(2)), .held, "the second one")
            bench.findings.equal(try await other.look(bench.lease(2)).lease, .held, "the lease")
            bench.findings.equal(try await one.release(bench.lease(1)), true, "whether it was given back")
            bench.findings.equal(try await other.look(bench.lease(2)).lease, .free, "the lease behind that")
            bench.findings.equal(try await other.lead(bench.lease(2)), .led, "the second one behind that")
        },
        Rule("A node that holds the lease keeps it when it asks again.") { bench in
            let node = try await bench.node()
            for _ in 0..<2 { bench.findings.equal(try await node.lead(bench.lease(1)), .led, "the lease") }
        },
        Rule("Leases of different names are independent.") { bench in
            let node = try await bench.node()
            for number in 1...3 {
                let lease = bench.lease(UInt64(number), bench.name(number))
                bench.findings.equal(try await node.lead(lease), .led, "number \(number)")
            }
        },
        Rule("A lease expires, and then another node can lead.") { bench in
            let node = try await bench.node()
            bench.findings.equal(try await node.lead(bench.lease(1), for: FleetValuesBench.short), .led, "the lease")
            try await bench.wait { try await node.lead(bench.lease(2)) == .led }
            bench.findings.equal(try await node.renew(bench.lease(1)), false, "whether the first one has it")
            bench.findings.equal(try await node.release(bench.lease(1)), false, "whether it was given back")
            bench.findings.equal(try await node.lead(bench.lease(3)), .held, "a third one")
        },
        Rule("'renew' extends the lease only for the node that holds it.") { bench in
            let node = try await bench.node()
            bench.findings.equal(try await node.renew(bench.lease(1)), false, "a lease that was never taken")
            bench.findings.equal(try await node.look(bench.lease(1)).lease, .free, "the lease")
            let (number, lifetime) = try await bench.race { number, lifetime in
                let lease = bench.lease(1, bench.name(number))
                guard try await node.lead(lease, for: lifetime) == .led else { return false }
                return try await node.renew(lease)
            }
            let lease = bench.lease(2, bench.name(number))
            bench.findings.equal(try await node.renew(lease, for: FleetValuesBench.short), false, "another node")
            let end = try await bench.engine.now().adding(lifetime)
            try await bench.wait { try await bench.engine.now() > end }
            bench.findings.equal(try await node.look(lease).lease, .held, "the lease behind its first time")
        },
        Rule("'release' works only for the node that holds the lease.") { bench in
            let node = try await bench.node()
            bench.findings.equal(try await node.release(bench.lease(1)), false, "a lease that was never taken")
            bench.findings.equal(try await node.lead(bench.lease(1)), .led, "the lease")
            bench.findings.equal(try await node.release(bench.lease(2)), false, "another node")
            bench.findings.equal(try await node.look(bench.lease(1)).lease, .held, "the lease")
        },
        Rule("'pass' replaces a lease until it expires.") { bench in
            let node = try await bench.node()
            bench.findings.equal(try await node.lead(bench.lease(1)), .led, "the lease")
            try await node.pass(bench.lease(1))
            bench.findings.equal(try await node.look(bench.lease(2)).lease, .pass, "the lease behind the pass")
            for token in [1, 2] as [UInt64] {
                bench.findings.equal(try await node.lead(bench.lease(token)), .pass, "node \(token)")
            }
            bench.findings.equal(try await node.renew(bench.lease(1)), false, "whether it was renewed")
            bench.findings.equal(try await node.release(bench.lease(1)), false, "whether it was given back")
            try await node.pass(bench.lease(1), for: FleetValuesBench.short)
            try await bench.wait { try await node.lead(bench.lease(2)) == .led }
        },
        Rule("'pass' needs no lease.") { bench in
            let node = try await bench.node()
            try await node.pass(bench.lease(1))
            bench.findings.equal(try await node.look(bench.lease(1)).lease, .pass, "the lease")
        },
        Rule("'look' returns the value and the lease.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            bench.findings.expect(try await node.look(bench.lease(1)) == LeaseLook(value: nil, lease: .free), "nothing")
            try await node.put(value, as: bench.name())
            bench.findings.expect(
                try await node.look(bench.lease(1)) == LeaseLook(value: value, lease: .free),
                "the value"
            )
            _ = try await node.lead(bench.lease(1))
            bench.findings.expect(try await node.look(bench.lease(1)) == LeaseLook(value: value, lease: .held), "both")
        },
    ]
}
