import FleetTier
import HoldfastTesting
import NIOCore

extension FleetValuesContract {
    /// Rules for faults.
    static let failing: [Rule] = [
        Rule("A server that lost its data accepts new values and leases.", with: [.flush]) { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            try await node.put(value, as: tested.name())
            _ = try await node.lead(tested.lease(1))
            try await tested.engine.cause(.flush)
            tested.findings.equal(
                try await node.readValue(tested.lease(1)),
                LeaseReading(value: nil, lease: .free),
                "the remaining value and lease"
            )
            tested.findings.expect(try await node.put(value, as: tested.name()), "the value was not put again")
            tested.findings.equal(try await node.lead(tested.lease(2)), .led, "the lease")
        },
        Rule("An engine is used again after a restart.", with: [.restart]) { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            try await node.put(value, as: tested.name())
            try await tested.engine.cause(.restart)
            try await node.put(value, as: tested.name())
            tested.findings.expect(try await node.value(tested.name()) == value, "the value")
            try await node.putChunks([tested.chunk(2)])
            tested.findings.expect(try await node.chunks([tested.name(2)]) == [tested.chunk(2).bytes], "the chunk")
        },
        Rule("A full engine rejects values and chunks, and a put releases its lease.", with: [.fill]) { tested in
            let node = try await tested.node()
            let value = tested.value(1, at: try await tested.engine.now())
            tested.findings.equal(try await node.lead(tested.lease(1)), .led, "the lease")
            try await tested.engine.cause(.fill)
            let errors = [
                await tested.error { () async throws(FleetLogError) in
                    _ = try await node.values.put(
                        value,
                        as: tested.name(),
                        for: FleetValuesUnderTest.long,
                        releasing: tested.lease(1),
                        within: tested.limit
                    )
                },
                await tested.error { () async throws(FleetLogError) in
                    try await node.values.putChunks(
                        [tested.chunk(2)],
                        for: FleetValuesUnderTest.long,
                        within: tested.limit
                    )
                },
            ]
            for error in errors { tested.findings.equal(error, .refused("OOM"), "the error") }
            tested.findings.equal(
                try await node.readValue(tested.lease(1)),
                LeaseReading(value: nil, lease: .free),
                "the remaining value and lease"
            )
        },
        Rule("No call waits longer than its deadline.", with: [.stall]) { tested in
            let node = try await tested.node()
            let values = node.values
            let value = tested.value(1, at: try await tested.engine.now())
            try await tested.engine.cause(.stall)
            let (name, lease, long, limit) = (
                tested.name(), tested.lease(1), FleetValuesUnderTest.long, Duration.milliseconds(20)
            )
            func expectEnd(_ what: String, _ call: () async throws(FleetLogError) -> Void) async {
                let error = await tested.error(call)
                // After several timeouts, the engine counts as unreachable.
                let isRight = error == .timedOut || error == .unreachable
                tested.findings.expect(isRight, "\(what): \(error.map { "\($0)" } ?? "no error")")
            }
            await expectEnd("values") { () async throws(FleetLogError) in
                _ = try await values.values([name], within: limit)
            }
            await expectEnd("put") { () async throws(FleetLogError) in
                _ = try await values.put(value, as: name, for: long, releasing: nil, within: limit)
            }
            await expectEnd("extend") { () async throws(FleetLogError) in
                _ = try await values.extend([name], for: long, within: limit)
            }
            await expectEnd("chunks") { () async throws(FleetLogError) in
                _ = try await values.chunks([name], within: limit)
            }
            await expectEnd("putChunks") { () async throws(FleetLogError) in
                try await values.putChunks([tested.chunk(1)], for: long, within: limit)
            }
            await expectEnd("lead") { () async throws(FleetLogError) in
                _ = try await values.lead(lease, for: long, within: limit)
            }
            await expectEnd("readValue") { () async throws(FleetLogError) in
                _ = try await values.readValue(at: name, lease: lease.name, within: limit)
            }
            await expectEnd("renew") { () async throws(FleetLogError) in
                _ = try await values.renew(lease, for: long, within: limit)
            }
            await expectEnd("release") { () async throws(FleetLogError) in
                _ = try await values.release(lease, within: limit)
            }
            await expectEnd("pass") { () async throws(FleetLogError) in
                try await values.pass(lease.name, for: long, within: limit)
            }
        },
        Rule("Canceling a call ends only that call.", with: [.stall]) { tested in
            let values = try await tested.node().values
            try await tested.engine.cause(.stall)
            let task = Task { [limit = tested.limit] in
                await tested.error { () async throws(FleetLogError) in
                    _ = try await values.values([tested.name()], within: limit)
                }
            }
            task.cancel()
            tested.findings.equal(await task.value, .cancelled, "the error")
        },
    ]
}
