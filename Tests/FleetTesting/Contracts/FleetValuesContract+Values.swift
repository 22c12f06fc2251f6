import FleetTier
import HoldfastTesting
import NIOCore

extension FleetValuesContract {
    /// Rules for `values` and `extend`.
    static let finding: [Rule] = [
        Rule("All nodes read a value as it was put.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now(), length: 70_000)
            tested.findings.equal(try await node.value(tested.name()), nil, "the value before")
            tested.findings.expect(try await node.put(value, as: tested.name()), "a first value was not put")
            for node in [node, try await tested.node()] {
                tested.findings.expect(try await node.value(tested.name()) == value, "a different value was returned")
            }
        },
        Rule("Values are returned in the order of their names, with 'nil' for each missing value.") { tested in
            let node = try await tested.node()
            let now = try await tested.engine.now()
            let (one, three) = (tested.value(1, at: now), tested.value(3, at: now))
            try await node.put(one, as: tested.name(1))
            try await node.put(three, as: tested.name(3))
            let found = try await node.values(tested.name(3), tested.name(2), tested.name(1), tested.name(3))
            tested.findings.expect(found == [three, nil, one, three], "the values or their order are wrong")
            tested.findings.equal(try await node.values().count, 0, "values for no name")
        },
        Rule("One call accepts the maximum number of names, and rejects more.") { tested in
            let node = try await tested.node()
            let names = (0...ValueLimits.mostNames).map { tested.name($0) }
            let found = try await node.values.values(Array(names.dropLast()), within: tested.limit)
            tested.findings.equal(found.count, ValueLimits.mostNames, "values")
            await tested.expectLimit("too many names") { () async throws(FleetLogError) in
                _ = try await node.values.values(names, within: tested.limit)
            }
        },
        Rule("A value of the maximum length is stored, and a longer value is rejected.") { tested in
            let node = try await tested.node()
            let now = try await tested.engine.now()
            let longest = tested.value(1, at: now, length: ValueLimits.longestValue)
            try await node.put(longest, as: tested.name())
            tested.findings.expect(try await node.value(tested.name()) == longest, "a different value was returned")
            let longer = tested.value(1, at: now, length: ValueLimits.longestValue + 1)
            await tested.expectLimit("a longer value") { () async throws(FleetLogError) in
                _ = try await node.values.put(
                    longer,
                    as: tested.name(2),
                    for: FleetValuesUnderTest.long,
                    releasing: nil,
                    within: tested.limit
                )
            }
            tested.findings.equal(try await node.value(tested.name(2)), nil, "the longer value")
        },
        Rule("A value disappears at the end of its lifetime.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            try await node.put(value, as: tested.name(1), for: FleetValuesUnderTest.short)
            try await node.put(value, as: tested.name(2))
            try await tested.wait { try await node.value(tested.name(1)) == nil }
            tested.findings.expect(try await node.value(tested.name(2)) != nil, "the other value is gone, too")
        },
        Rule("'extend' sets a new lifetime, longer or shorter.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            let (number, lifetime) = try await tested.race { number, lifetime in
                try await node.put(value, as: tested.name(number), for: lifetime)
                return try await node.extend([tested.name(number)], for: FleetValuesUnderTest.long)
            }
            let end = try await tested.engine.now().adding(lifetime)
            try await tested.wait { try await tested.engine.now() > end }
            tested.findings.expect(try await node.value(tested.name(number)) != nil, "it has the old lifetime")
            _ = try await node.extend([tested.name(number)], for: FleetValuesUnderTest.short)
            try await tested.wait { try await node.value(tested.name(number)) == nil }
        },
        Rule("'extend' returns whether all values existed, and extends those that did.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            for number in [1, 3] { try await node.put(value, as: tested.name(number)) }
            tested.findings.equal(
                try await node.extend([tested.name(1), tested.name(3)], for: FleetValuesUnderTest.long),
                true,
                "whether all values existed"
            )
            tested.findings.equal(
                try await node.extend((1...3).map { tested.name($0) }, for: FleetValuesUnderTest.short),
                false,
                "whether all values existed, although one did not"
            )
            try await tested.wait { try await node.values(tested.name(1), tested.name(3)) == [nil, nil] }
            tested.findings.equal(try await node.value(tested.name(2)), nil, "the value that was never put")
            await tested.expectLimit("too many names") { () async throws(FleetLogError) in
                let names = (0...ValueLimits.mostExtended).map { tested.name($0) }
                _ = try await node.values.extend(names, for: FleetValuesUnderTest.long, within: tested.limit)
            }
        },
        Rule("A lifetime below a millisecond is rejected, and nothing is written.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            let lease = tested.lease(1)
            for time in [Duration.zero, .microseconds(999), .seconds(-1)] {
                await tested.expectLimit("put") { () async throws(FleetLogError) in
                    _ = try await node.values.put(
                        value,
                        as: tested.name(),
                        for: time,
                        releasing: nil,
                        within: tested.limit
                    )
                }
                await tested.expectLimit("putChunks") { () async throws(FleetLogError) in
                    try await node.values.putChunks([tested.chunk(2)], for: time, within: tested.limit)
                }
                await tested.expectLimit("extend") { () async throws(FleetLogError) in
                    _ = try await node.values.extend([tested.name()], for: time, within: tested.limit)
                }
                await tested.expectLimit("lead") { () async throws(FleetLogError) in
                    _ = try await node.values.lead(lease, for: time, within: tested.limit)
                }
                await tested.expectLimit("renew") { () async throws(FleetLogError) in
                    _ = try await node.values.renew(lease, for: time, within: tested.limit)
                }
                await tested.expectLimit("pass") { () async throws(FleetLogError) in
                    try await node.values.pass(lease.name, for: time, within: tested.limit)
                }
            }
            let found = try await node.values(tested.name(), tested.name(2), lease.name)
            tested.findings.expect(found == [nil, nil, nil], "something was written")
        },
    ]

    /// Rules for `put`.
    static let putting: [Rule] = [
        Rule("A later response replaces an earlier one, never the reverse.") { tested in
            let node = try await tested.node()
            let now = try await tested.engine.now()
            // Times that differ in the first, a middle or the last byte.
            let times = [-(1 << 40), -70_000, -256, -255, -1, 0].map { EngineTime(milliseconds: now.milliseconds + $0) }
            let values = times.enumerated().map { tested.value($0.offset, at: $0.element) }
            for (index, value) in values.enumerated() {
                tested.findings.expect(try await node.put(value, as: tested.name()), "number \(index) was not put")
                tested.findings.expect(try await node.value(tested.name()) == value, "number \(index) is not there")
                for earlier in values[..<index] {
                    tested.findings.expect(
                        try await !tested.node().put(earlier, as: tested.name()),
                        "a value older than number \(index) was accepted"
                    )
                }
                tested.findings.expect(try await node.value(tested.name()) == value, "number \(index) was replaced")
            }
        },
        Rule("A response with the same time replaces the old response, and has its own lifetime.") { tested in
            let node = try await tested.node()
            let now = try await tested.engine.now()
            try await node.put(tested.value(1, at: now), as: tested.name())
            let second = tested.value(2, at: now)
            tested.findings.expect(try await node.put(second, as: tested.name()), "it was not put")
            tested.findings.expect(try await node.value(tested.name()) == second, "it is not there")
            try await node.put(second, as: tested.name(), for: FleetValuesUnderTest.short)
            try await tested.wait { try await node.value(tested.name()) == nil }
        },
        Rule("A value stamped more than a minute ahead of the engine's clock is replaced.") { tested in
            let node = try await tested.node()
            let now = try await tested.engine.now()
            let present = tested.value(1, at: now)
            for seconds in [1_000_000, 3600, Int64.max / 1000] as [Int64] {
                let late = tested.value(2, at: now.adding(.seconds(seconds)))
                try await node.put(late, as: tested.name())
                tested.findings.expect(try await node.value(tested.name()) == late, "\(seconds) s ahead was not put")
                tested.findings.expect(try await node.put(present, as: tested.name()), "\(seconds) s ahead stays")
            }
            // The clocks are not exact.
            try await node.put(tested.value(3, at: now.adding(.seconds(50))), as: tested.name())
            tested.findings.expect(try await !node.put(present, as: tested.name()), "50 s ahead was replaced")
        },
        Rule("Bytes that are not a value are replaced.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: EngineTime(milliseconds: 5))
            var other = tested.header(at: try await tested.engine.now())
            other.setString("XXXX", at: 0)
            for bytes in [ByteBuffer(), ByteBuffer(string: "HFs1"), ByteBuffer(repeating: 255, count: 100), other] {
                try await tested.engine.plant(bytes, as: tested.name())
                tested.findings.expect(try await node.value(tested.name()) == bytes, "the bytes were not returned")
                tested.findings.expect(try await node.put(value, as: tested.name()), "the bytes stay")
                tested.findings.expect(try await node.value(tested.name()) == value, "the value is not there")
            }
        },
        Rule("Bytes without a header are rejected, and not put.") { tested in
            let node = try await tested.node()
            for bytes in [ByteBuffer(), ByteBuffer(string: "HFs1"), ByteBuffer(repeating: 255, count: 100)] {
                await tested.expectLimit("no header") { () async throws(FleetLogError) in
                    _ = try await node.values.put(
                        bytes,
                        as: tested.name(),
                        for: FleetValuesUnderTest.long,
                        releasing: nil,
                        within: tested.limit
                    )
                }
            }
            tested.findings.equal(try await node.value(tested.name()), nil, "the value")
        },
        Rule("A put releases its lease, even if a later value stays.") { tested in
            let node = try await tested.node()
            let now = try await tested.engine.now()
            let earlier = EngineTime(milliseconds: now.milliseconds - 1)
            for (time, isPut) in [(now, true), (earlier, false)] {
                tested.findings.equal(try await node.lead(tested.lease(1)), .led, "the lease")
                let wasPut = try await node.put(
                    tested.value(1, at: time),
                    as: tested.name(),
                    releasing: tested.lease(1)
                )
                tested.findings.equal(wasPut, isPut, "whether it was put")
                tested.findings.equal(
                    try await node.readValue(tested.lease(1)).lease,
                    .free,
                    "the lease after the put"
                )
            }
        },
        Rule("A put does not release another node's lease.") { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            tested.findings.equal(try await node.lead(tested.lease(2)), .led, "the lease")
            try await node.put(value, as: tested.name(), releasing: tested.lease(1))
            try await node.put(value, as: tested.name())
            tested.findings.equal(try await node.readValue(tested.lease(2)).lease, .held, "the lease after the put")
            try await node.pass(tested.lease(2))
            try await node.put(value, as: tested.name(), releasing: tested.lease(2))
            tested.findings.equal(try await node.readValue(tested.lease(2)).lease, .pass, "a pass after the put")
        },
    ]
}
