import FleetTier
import NIOCore

extension FleetValuesContract {
    /// `values` and `extend`.
    static let finding: [Rule] = [
        Rule("All nodes read a value as it was put.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now(), length: 70_000)
            bench.findings.equal(try await node.value(bench.name()), nil, "the value before")
            bench.findings.expect(try await node.put(value, as: bench.name()), "a first value was not put")
            for node in [node, try await bench.node()] {
                bench.findings.expect(try await node.value(bench.name()) == value, "another value came back")
            }
        },
        Rule("Values come in the order of their names, with a gap for each missing value.") { bench in
            let node = try await bench.node()
            let now = try await bench.engine.now()
            let (one, three) = (bench.value(1, at: now), bench.value(3, at: now))
            try await node.put(one, as: bench.name(1))
            try await node.put(three, as: bench.name(3))
            let found = try await node.values(bench.name(3), bench.name(2), bench.name(1), bench.name(3))
            bench.findings.expect(found == [three, nil, one, three], "other values, or in another order")
            bench.findings.equal(try await node.values().count, 0, "values for no name")
        },
        Rule("One call accepts the maximum number of names, and rejects more.") { bench in
            let node = try await bench.node()
            let names = (0...ValueLimits.mostNames).map { bench.name($0) }
            let found = try await node.values.values(Array(names.dropLast()), within: bench.limit)
            bench.findings.equal(found.count, ValueLimits.mostNames, "values")
            await bench.expectLimit("too many names") { () async throws(FleetLogError) in
                _ = try await node.values.values(names, within: bench.limit)
            }
        },
        Rule("A value of the maximum length is stored, and a longer one is rejected.") { bench in
            let node = try await bench.node()
            let now = try await bench.engine.now()
            let longest = bench.value(1, at: now, length: ValueLimits.longestValue)
            try await node.put(longest, as: bench.name())
            bench.findings.expect(try await node.value(bench.name()) == longest, "another value came back")
            let longer = bench.value(1, at: now, length: ValueLimits.longestValue + 1)
            await bench.expectLimit("a longer value") { () async throws(FleetLogError) in
                _ = try await node.values.put(
                    longer,
                    as: bench.name(2),
                    for: FleetValuesBench.long,
                    releasing: nil,
                    within: bench.limit
                )
            }
            bench.findings.equal(try await node.value(bench.name(2)), nil, "the longer value")
        },
        Rule("A value disappears at the end of its lifetime.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            try await node.put(value, as: bench.name(1), for: FleetValuesBench.short)
            try await node.put(value, as: bench.name(2))
            try await bench.wait { try await node.value(bench.name(1)) == nil }
            bench.findings.expect(try await node.value(bench.name(2)) != nil, "the other one is gone, too")
        },
        Rule("'extend' sets a new lifetime, longer or shorter.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            let (number, lifetime) = try await bench.race { number, lifetime in
                try await node.put(value, as: bench.name(number), for: lifetime)
                return try await node.extend([bench.name(number)], for: FleetValuesBench.long)
            }
            let end = try await bench.engine.now().adding(lifetime)
            try await bench.wait { try await bench.engine.now() > end }
            bench.findings.expect(try await node.value(bench.name(number)) != nil, "it has the old lifetime")
            _ = try await node.extend([bench.name(number)], for: FleetValuesBench.short)
            try await bench.wait { try await node.value(bench.name(number)) == nil }
        },
        Rule("'extend' returns whether all values existed, and extends those that did.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            for number in [1, 3] { try await node.put(value, as: bench.name(number)) }
            bench.findings.equal(
                try await node.extend([bench.name(1), bench.name(3)], for: FleetValuesBench.long),
                true,
                "whether all were there"
            )
            bench.findings.equal(
                try await node.extend((1...3).map { bench.name($0) }, for: FleetValuesBench.short),
                false,
                "whether all were there, of which one was not"
            )
            try await bench.wait { try await node.values(bench.name(1), bench.name(3)) == [nil, nil] }
            bench.findings.equal(try await node.value(bench.name(2)), nil, "what was never put")
            await bench.expectLimit("too many names") { () async throws(FleetLogError) in
                let names = (0...ValueLimits.mostExtended).map { bench.name($0) }
                _ = try await node.values.extend(names, for: FleetValuesBench.long, within: bench.limit)
            }
        },
        Rule("A lifetime below a millisecond is rejected, and nothing is written.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            let lease = bench.lease(1)
            for time in [Duration.zero, .microseconds(999), .seconds(-1)] {
                await bench.expectLimit("put") { () async throws(FleetLogError) in
                    _ = try await node.values.put(
                        value,
                        as: bench.name(),
                        for: time,
                        releasing: nil,
                        within: bench.limit
                    )
                }
                await bench.expectLimit("putChunks") { () async throws(FleetLogError) in
                    try await node.values.putChunks([bench.chunk(2)], for: time, within: bench.limit)
                }
                await bench.expectLimit("extend") { () async throws(FleetLogError) in
                    _ = try await node.values.extend([bench.name()], for: time, within: bench.limit)
                }
                await bench.expectLimit("lead") { () async throws(FleetLogError) in
                    _ = try await node.values.lead(lease, for: time, within: bench.limit)
                }
                await bench.expectLimit("renew") { () async throws(FleetLogError) in
                    _ = try await node.values.renew(lease, for: time, within: bench.limit)
                }
                await bench.expectLimit("pass") { () async throws(FleetLogError) in
                    try await node.values.pass(lease.name, for: time, within: bench.limit)
                }
            }
            let found = try await node.values(bench.name(), bench.name(2), lease.name)
            bench.findings.expect(found == [nil, nil, nil], "something was written")
        },
    ]

    /// `put`.
    static let putting: [Rule] = [
        Rule("A later response replaces an earlier one, never the reverse.") { bench in
            let node = try await bench.node()
            let now = try await bench.engine.now()
            // Times whose bytes differ in the first, the middle and the last place.
            let times = [-(1 << 40), -70_000, -256, -255, -1, 0].map { EngineTime(milliseconds: now.milliseconds + $0) }
            let values = times.enumerated().map { bench.value($0.offset, at: $0.element) }
            for (index, value) in values.enumerated() {
                bench.findings.expect(try await node.put(value, as: bench.name()), "number \(index) was not put")
                bench.findings.expect(try await node.value(bench.name()) == value, "number \(index) is not there")
                for earlier in values[..<index] {
                    bench.findings.expect(
                        try await !bench.node().put(earlier, as: bench.name()),
                        "an earlier one than number \(index) was put"
                    )
                }
                bench.findings.expect(try await node.value(bench.name()) == value, "number \(index) was replaced")
            }
        },
        Rule("A response of the same time replaces the old one, with its own lifetime.") { bench in
            let node = try await bench.node()
            let now = try await bench.engine.now()
            try await node.put(bench.value(1, at: now), as: bench.name())
            let second = bench.value(2, at: now)
            bench.findings.expect(try await node.put(second, as: bench.name()), "it was not put")
            bench.findings.expect(try await node.value(bench.name()) == second, "it is not there")
            try await node.put(second, as: bench.name(), for: FleetValuesBench.short)
            try await bench.wait { try await node.value(bench.name()) == nil }
        },
        Rule("A value from more than a minute ahead of the engine's clock is replaced.") { bench in
            let node = try await bench.node()
            let now = try await bench.engine.now()
            let present = bench.value(1, at: now)
            for seconds in [1_000_000, 3600, Int64.max / 1000] as [Int64] {
                let late = bench.value(2, at: now.adding(.seconds(seconds)))
                try await node.put(late, as: bench.name())
                bench.findings.expect(try await node.value(bench.name()) == late, "\(seconds) s ahead was not put")
                bench.findings.expect(try await node.put(present, as: bench.name()), "\(seconds) s ahead stays")
            }
            // Clocks are not exact.
            try await node.put(bench.value(3, at: now.adding(.seconds(50))), as: bench.name())
            bench.findings.expect(try await !node.put(present, as: bench.name()), "50 s ahead was replaced")
        },
        Rule("Bytes that are not a value are replaced.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: EngineTime(milliseconds: 5))
            var other = bench.header(at: try await bench.engine.now())
            other.setString("XXXX", at: 0)
            for bytes in [ByteBuffer(), ByteBuffer(string: "HFs1"), ByteBuffer(repeating: 255, count: 100), other] {
                try await bench.engine.plant(bytes, as: bench.name())
                bench.findings.expect(try await node.value(bench.name()) == bytes, "they did not come back")
                bench.findings.expect(try await node.put(value, as: bench.name()), "they stay")
                bench.findings.expect(try await node.value(bench.name()) == value, "the value is not there")
            }
        },
        Rule("Bytes without a header are rejected, and not put.") { bench in
            let node = try await bench.node()
            for bytes in [ByteBuffer(), ByteBuffer(string: "HFs1"), ByteBuffer(repeating: 255, count: 100)] {
                await bench.expectLimit("no header") { () async throws(FleetLogError) in
                    _ = try await node.values.put(
                        bytes,
                        as: bench.name(),
                        for: FleetValuesBench.long,
                        releasing: nil,
                        within: bench.limit
                    )
                }
            }
            bench.findings.equal(try await node.value(bench.name()), nil, "the value")
        },
        Rule("A put releases its lease, even if a later value stays.") { bench in
            let node = try await bench.node()
            let now = try await bench.engine.now()
            let earlier = EngineTime(milliseconds: now.milliseconds - 1)
            for (time, isPut) in [(now, true), (earlier, false)] {
                bench.findings.equal(try await node.lead(bench.lease(1)), .led, "the lease")
                let wasPut = try await node.put(bench.value(1, at: time), as: bench.name(), releasing: bench.lease(1))
                bench.findings.equal(wasPut, isPut, "whether it was put")
                bench.findings.equal(try await node.look(bench.lease(1)).lease, .free, "the lease behind the put")
            }
        },
        Rule("A put does not release another node's lease.") { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            bench.findings.equal(try await node.lead(bench.lease(2)), .led, "the lease")
            try await node.put(value, as: bench.name(), releasing: bench.lease(1))
            try await node.put(value, as: bench.name())
            bench.findings.equal(try await node.look(bench.lease(2)).lease, .held, "the lease behind the put")
            try await node.pass(bench.lease(2))
            try await node.put(value, as: bench.name(), releasing: bench.lease(2))
            bench.findings.equal(try await node.look(bench.lease(2)).lease, .pass, "a pass behind the put")
        },
    ]
}
