import FleetTier
import HoldfastTesting
import NIOCore

extension FleetValuesContract {
    /// Rules for `chunks` and `putChunks`.
    static let chunking: [Rule] = [
        Rule("Chunks are returned as they were put, in the order of their names.") { tested in
            let node = try await tested.node()
            let chunks = (1...ValueLimits.mostChunks).map { tested.chunk($0) }
            try await node.putChunks(chunks)
            let names = (0...6).map { tested.name($0) }
            let found = try await tested.node().chunks(names.reversed())
            let expected = [nil] + chunks.prefix(6).map(\.bytes)
            tested.findings.expect(found == expected.reversed(), "the chunks or their order are wrong")
            tested.findings.equal(try await node.chunks([]).count, 0, "chunks for no name")
            try await node.putChunks([])
        },
        Rule("Too many chunks at once, and chunks that are too long, are rejected.") { tested in
            let node = try await tested.node()
            await tested.expectLimit("too many names") { () async throws(FleetLogError) in
                _ = try await node.values.chunks(
                    (0...ValueLimits.mostChunks).map { tested.name($0) },
                    within: tested.limit
                )
            }
            let many = (0...ValueLimits.mostChunks).map { tested.chunk($0, length: 10) }
            let long = [tested.chunk(1, length: ValueLimits.longestChunk + 1)]
            for chunks in [many, long] {
                await tested.expectLimit("chunks") { () async throws(FleetLogError) in
                    try await node.values.putChunks(chunks, for: FleetValuesUnderTest.long, within: tested.limit)
                }
            }
            tested.findings.expect(try await node.value(tested.name(1)) == nil, "some chunks were put")
        },
        Rule("A chunk disappears at the end of its lifetime.") { tested in
            let node = try await tested.node()
            try await node.putChunks([tested.chunk(1)], for: FleetValuesUnderTest.short)
            try await tested.wait { try await node.chunks([tested.name(1)]) == [nil] }
        },
        Rule("Many bodies can be written and read concurrently.") { tested in
            let node = try await tested.node()
            try await withThrowingTaskGroup { group in
                for body in 0..<12 {
                    group.addTask {
                        let chunks = (0..<ValueLimits.mostChunks).map { tested.chunk(100 * body + $0) }
                        try await node.putChunks(chunks)
                        let found = try await node.chunks(chunks.map(\.name))
                        tested.findings.expect(found == chunks.map(\.bytes), "body \(body) has the wrong bytes")
                    }
                }
                try await group.waitForAll()
            }
        },
    ]

    /// Rules for leases.
    static let leading: [Rule] = [
        Rule("One node leads at a time, until it releases its lease.") { tested in
            let (one, other) = (try await tested.node(), try await tested.node())
            tested.findings.equal(try await one.readValue(tested.lease(1)).lease, .free, "the lease at first")
            tested.findings.equal(try await one.lead(tested.lease(1)), .led, "the first node")
            tested.findings.equal(try await other.lead(tested.lease(2)), .held, "the second node")
            tested.findings.equal(try await other.readValue(tested.lease(2)).lease, .held, "the lease")
            tested.findings.equal(try await one.release(tested.lease(1)), true, "whether the lease was released")
            tested.findings.equal(try await other.readValue(tested.lease(2)).lease, .free, "the lease after release")
            tested.findings.equal(try await other.lead(tested.lease(2)), .led, "the second node after release")
        },
        Rule("A node that holds the lease keeps it when it requests the lease again.") { tested in
            let node = try await tested.node()
            for _ in 0..<2 { tested.findings.equal(try await node.lead(tested.lease(1)), .led, "the lease") }
        },
        Rule("Leases of different names are independent.") { tested in
            let node = try await tested.node()
            for number in 1...3 {
                let lease = tested.lease(UInt64(number), tested.name(number))
                tested.findings.equal(try await node.lead(lease), .led, "number \(number)")
            }
        },
        Rule("A lease expires, and then another node can lead.") { tested in
            let node = try await tested.node()
            tested.findings.equal(
                try await node.lead(tested.lease(1), for: FleetValuesUnderTest.short),
                .led,
                "the lease"
            )
            try await tested.wait { try await node.lead(tested.lease(2)) == .led }
            tested.findings.equal(try await node.renew(tested.lease(1)), false, "whether the first node still has it")
            tested.findings.equal(try await node.release(tested.lease(1)), false, "whether the lease was released")
            tested.findings.equal(try await node.lead(tested.lease(3)), .held, "a third node")
        },
        Rule("'renew' extends the lease only for the node that holds it.") { tested in
            let node = try await tested.node()
            tested.findings.equal(try await node.renew(tested.lease(1)), false, "a lease that was never taken")
            tested.findings.equal(try await node.readValue(tested.lease(1)).lease, .free, "the lease")
            let (number, lifetime) = try await tested.race { number, lifetime in
                let lease = tested.lease(1, tested.name(number))
                guard try await node.lead(lease, for: lifetime) == .led else { return false }
                return try await node.renew(lease)
            }
            let lease = tested.lease(2, tested.name(number))
            tested.findings.equal(try await node.renew(lease, for: FleetValuesUnderTest.short), false, "another node")
            let end = try await tested.engine.now().adding(lifetime)
            try await tested.wait { try await tested.engine.now() > end }
            tested.findings.equal(try await node.readValue(lease).lease, .held, "the lease after its first duration")
        },
        Rule("'release' works only for the node that holds the lease.") { tested in
            let node = try await tested.node()
            tested.findings.equal(try await node.release(tested.lease(1)), false, "a lease that was never taken")
            tested.findings.equal(try await node.lead(tested.lease(1)), .led, "the lease")
            tested.findings.equal(try await node.release(tested.lease(2)), false, "another node")
            tested.findings.equal(try await node.readValue(tested.lease(1)).lease, .held, "the lease")
        },
        Rule("'pass' replaces a lease until it expires.") { tested in
            let node = try await tested.node()
            tested.findings.equal(try await node.lead(tested.lease(1)), .led, "the lease")
            try await node.pass(tested.lease(1))
            tested.findings.equal(try await node.readValue(tested.lease(2)).lease, .pass, "the lease after the pass")
            for token in [1, 2] as [UInt64] {
                tested.findings.equal(try await node.lead(tested.lease(token)), .pass, "node \(token)")
            }
            tested.findings.equal(try await node.renew(tested.lease(1)), false, "whether the lease was renewed")
            tested.findings.equal(try await node.release(tested.lease(1)), false, "whether the lease was released")
            try await node.pass(tested.lease(1), for: FleetValuesUnderTest.short)
            try await tested.wait { try await node.lead(tested.lease(2)) == .led }
        },
        Rule("'pass' needs no lease.") { tested in
            let node = try await tested.node()
            try await node.pass(tested.lease(1))
            tested.findings.equal(try await node.readValue(tested.lease(1)).lease, .pass, "the lease")
        },
        Rule("'readValue' returns the value and the lease.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            tested.findings.expect(
                try await node.readValue(tested.lease(1)) == LeaseReading(value: nil, lease: .free),
                "nothing"
            )
            try await node.put(value, as: tested.name())
            tested.findings.expect(
                try await node.readValue(tested.lease(1)) == LeaseReading(value: value, lease: .free),
                "the value"
            )
            _ = try await node.lead(tested.lease(1))
            tested.findings.expect(
                try await node.readValue(tested.lease(1)) == LeaseReading(value: value, lease: .held),
                "both"
            )
        },
    ]
}
