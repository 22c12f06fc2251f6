import FleetTier
import NIOCore

extension FleetValuesContract {
    /// Faults.
    static let failing: [Rule] = [
        Rule("An engine that lost everything starts over.", with: [.flush]) { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            try await node.put(value, as: bench.name())
            _ = try await node.lead(bench.lease(1))
            try await bench.engine.cause(.flush)
            bench.findings.equal(
                try await node.look(bench.lease(1)),
                LeaseLook(value: nil, lease: .free),
                "what is left"
            )
            bench.findings.expect(try await node.put(value, as: bench.name()), "it was not put again")
            bench.findings.equal(try await node.lead(bench.lease(2)), .led, "the lease")
        },
        Rule("An engine is used again after a restart.", with: [.restart]) { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            try await node.put(value, as: bench.name())
            try await bench.engine.cause(.restart)
            try await node.put(value, as: bench.name())
            bench.findings.expect(try await node.value(bench.name()) == value, "the value")
            try await node.putChunks([bench.chunk(2)])
            bench.findings.expect(try await node.chunks([bench.name(2)]) == [bench.chunk(2).bytes], "the chunk")
        },
        Rule("A full engine rejects values and chunks, and a put gives its lease back.", with: [.fill]) { bench in
            let node = try await bench.node()
            let value = bench.value(1, at: try await bench.engine.now())
            bench.findings.equal(try await node.lead(bench.lease(1)), .led, "the lease")
            try await bench.engine.cause(.fill)
            let errors = [
                await bench.error { () async throws(FleetLogError) in
                    _ = try await node.values.put(
                        value,
                        as: bench.name(),
                        for: FleetValuesBench.long,
                        releasing: bench.lease(1),
                        within: bench.limit
                    )
                },
                await bench.error { () async throws(FleetLogError) in
                    try await node.values.putChunks(
                        [bench.chunk(2)],
                        for: FleetValuesBench.long,
                        within: bench.limit
                    )
                },
            ]
            for error in errors { bench.findings.equal(error, .refused("OOM"), "the error") }
            bench.findings.equal(
                try await node.look(bench.lease(1)),
                LeaseLook(value: nil, lease: .free),
                "what is left"
            )
        },
        Rule("No call waits longer than its deadline.", with: [.stall]) { bench in
            let node = try await bench.node()
            let values = node.values
            let value = bench.value(1, at: try await bench.engine.now())
            try await bench.engine.cause(.stall)
            let (name, lease, long, limit) = (
                bench.name(), bench.lease(1), FleetValuesBench.long, Duration.milliseconds(20)
            )
            func expectEnd(_ what: String, _ call: () async throws(FleetLogError) -> Void) async {
                let error = await bench.error(call)
                // Behind some timeouts the engine counts as unreachable.
                let isRight = error == .timedOut || error == .unreachable
                bench.findings.expect(isRight, "\(what): \(error.map { "\($0)" } ?? "no error")")
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
                try await values.putChunks([bench.chunk(1)], for: long, within: limit)
            }
            await expectEnd("lead") { () async throws(FleetLogError) in
                _ = try await values.lead(lease, for: long, within: limit)
            }
            await expectEnd("look") { () async throws(FleetLogError) in
                _ = try await values.look(at: name, lease: lease.name, within: limit)
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
        Rule("A cancelled call ends, and others do not.", with: [.stall]) { bench in
            let values = try await bench.node().values
            try await bench.engine.cause(.stall)
            let task = Task { [limit = bench.limit] in
                await bench.error { () async throws(FleetLogError) in
                    _ = try await values.values([bench.name()], within: limit)
                }
            }
            task.cancel()
            bench.findings.equal(await task.value, .cancelled, "the error")
        },
    ]
}
