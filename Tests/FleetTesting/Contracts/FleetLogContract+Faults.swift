import FleetTier
import HTTPCache
import HoldfastTesting

extension FleetLogContract {
    /// Rules for a server that loses all or part of the log, with or without a restart.
    static let losing: [Rule] = [
        Rule(
            "After all data is removed, nothing is accepted until a new epoch begins, which inherits nothing.",
            with: [.flush]
        ) {
            tested in
            let (node, epoch) = try await tested.begunNode()
            let position = try await node.append(1, in: epoch)
            try await tested.engine.cause(.flush)
            tested.findings.equal(try await node.rejection(2, in: epoch.number), .wrongEpoch, "an entry")
            tested.findings.equal(try await node.epoch(), nil, "the epoch")
            tested.findings.equal(try await node.bounds(), nil, "the ends")
            let later = try await node.begin(knowing: epoch.number, salt: 1)
            tested.findings.expect(later.number > epoch.number, "\(later.number) is not above \(epoch.number)")
            let batch = try await node.follow(after: position)
            tested.findings.equal(batch.atCursor, nil, "the entry at the cursor")
            tested.findings.equal(batch.epoch, later, "the epoch of the batch")
            let marker = EpochMarker(name: later.name, inherited: nil)
            tested.findings.equal(batch.entries.map(\.content), [.marker(marker)], "the entries")
            let again = try await node.append(1, in: later)
            tested.findings.equal(again, LogPosition(epoch: later.number, number: 2), "the purge's new position")
        },
        Rule("A reader that waits while all data is removed learns of it from the next epoch's marker.", with: [.flush])
        {
            tested in
            let (reader, epoch) = try await tested.begunNode()
            let writer = try await tested.node()
            let cursor = try await writer.append(1, in: epoch)
            async let batch = reader.follow(after: cursor, wait: tested.limit)
            try await tested.engine.cause(.flush)
            let later = try await writer.begin(knowing: epoch.number, salt: 1)
            var (entries, present, atCursor) = (
                try await batch.entries, try await batch.epoch, try await batch.atCursor
            )
            while entries.isEmpty {
                let next = try await reader.follow(after: cursor, wait: tested.limit)
                (entries, present, atCursor) = (next.entries, next.epoch, next.atCursor)
            }
            tested.findings.equal(entries.map(\.position), [LogPosition(epoch: later.number, number: 1)], "the entries")
            tested.findings.equal(present, later, "the epoch")
            tested.findings.equal(atCursor, nil, "the entry at the cursor")
        },
        Rule("After a restart with its data, a server begins an epoch that inherits the last entry.", with: [.restart])
        {
            tested in
            let (node, epoch) = try await tested.begunNode()
            let last = try await node.append(1, in: epoch)
            try await tested.engine.cause(.restart)
            tested.findings.equal(try await node.rejection(2, in: epoch.number), .wrongEpoch, "an entry")
            tested.findings.equal(try await node.epoch(), nil, "the epoch")
            tested.findings.equal(
                try await node.follow(after: last).atCursor?.position,
                last,
                "the entry at the cursor"
            )
            let later = try await node.begin(knowing: epoch.number, salt: 1)
            let batch = try await node.follow(after: last)
            let marker = EpochMarker(name: later.name, inherited: last)
            tested.findings.equal(batch.entries.map(\.content), [.marker(marker)], "the entries")
            tested.findings.equal(try await node.append(1, in: later), last, "the position of an earlier purge")
        },
        Rule("If only the log is evicted, it is lost, and its purges are added again.", with: [.evictLog]) { tested in
            let (node, epoch) = try await tested.begunNode()
            try await node.append(1, in: epoch)
            try await tested.engine.cause(.evictLog)
            tested.findings.equal(try await node.rejection(2, in: epoch.number), .wrongEpoch, "an entry")
            tested.findings.equal(try await node.epoch(), nil, "the epoch")
            let later = try await node.begin(knowing: epoch.number, salt: 1)
            tested.findings.expect(later.number > epoch.number, "\(later.number) is not above \(epoch.number)")
            let marker = EpochMarker(name: later.name, inherited: nil)
            tested.findings.equal(try await node.follow().entries.map(\.content), [.marker(marker)], "the entries")
            let again = try await node.append(1, in: later)
            tested.findings.equal(try await node.entry(at: again)?.content, .purge(tested.bytes(1)), "the purge")
        },
        Rule("If the purge IDs are evicted, a purge that is published again is in the log.", with: [.evictNames]) {
            tested in
            let (node, epoch) = try await tested.begunNode()
            try await node.append(1, in: epoch)
            try await tested.engine.cause(.evictNames)
            let again = try await node.append(1, in: epoch)
            tested.findings.equal(try await node.entry(at: again)?.content, .purge(tested.bytes(1)), "the purge")
        },
    ]

    /// Rules for deadlines.
    static let stalling: [Rule] = [
        Rule("Every call to an engine that does not reply ends by its deadline.", with: [.stall]) { tested in
            let (node, epoch) = try await tested.begunNode()
            let report = try tested.report("gw-1")
            try await tested.engine.cause(.stall)
            let (log, cursor) = (node.log, LogPosition(epoch: epoch.number, number: 1))
            let limit = Duration.milliseconds(20)
            let offer = EpochOffer(highestKnown: epoch.number, candidate: epoch)
            let calls: [(String, @Sendable () async throws(FleetLogError) -> Void)] = [
                ("time", { () async throws(FleetLogError) in _ = try await log.time(within: limit) }),
                ("begin", { () async throws(FleetLogError) in _ = try await log.begin(offer, within: limit) }),
                ("epoch", { () async throws(FleetLogError) in _ = try await log.epoch(within: limit) }),
                (
                    "append",
                    { () async throws(FleetLogError) in
                        _ = try await log.append([1], purge: tested.purge(1), in: epoch.number, within: limit)
                    }
                ),
                (
                    "follow",
                    { () async throws(FleetLogError) in
                        _ = try await log.follow(after: cursor, count: 1, wait: limit, within: limit)
                    }
                ),
                ("entry", { () async throws(FleetLogError) in _ = try await log.entry(at: cursor, within: limit) }),
                ("bounds", { () async throws(FleetLogError) in _ = try await log.bounds(within: limit) }),
                ("trim", { () async throws(FleetLogError) in try await log.trim(LogRetention(), within: limit) }),
                (
                    "confirm",
                    { () async throws(FleetLogError) in
                        _ = try await log.confirm(replicas: 0, in: epoch.number, wait: limit, within: limit)
                    }
                ),
                (
                    "announce",
                    { () async throws(FleetLogError) in
                        try await log.announce(report, in: epoch.number, within: limit)
                    }
                ),
                ("nodes", { () async throws(FleetLogError) in _ = try await log.nodes(within: limit) }),
            ]
            for (name, call) in calls {
                let error = await tested.error(call)
                tested.findings.expect(
                    error == .timedOut || error == .unreachable,
                    "'\(name)': \(String(describing: error))"
                )
            }
        }
    ]

    /// Rules for a replica that takes over.
    static let failingOver: [Rule] = [
        Rule(
            "A replica that takes over accepts nothing in the old epoch, although it knows the epoch's name.",
            with: [.holdReplication, .failOver]
        ) { tested in
            let (node, epoch) = try await tested.begunNode()
            let kept = try await node.append(1, in: epoch)
            tested.findings.equal(try await node.confirm(1, in: epoch, wait: tested.limit), 1, "replicas")
            try await tested.engine.cause(.holdReplication)
            let lost = try await node.append(2, in: epoch)
            try await tested.engine.cause(.failOver)
            // Otherwise the new entry would get the position of the lost entry.
            tested.findings.equal(try await node.rejection(3, in: epoch.number), .wrongEpoch, "an entry")
            let confirmation = await tested.error { () async throws(FleetLogError) in
                _ = try await node.log.confirm(replicas: 0, in: epoch.number, wait: .zero, within: tested.limit)
            }
            tested.findings.expect(
                confirmation == .wrongEpoch || confirmation == .unreachable,
                "a confirmation: \(String(describing: confirmation))"
            )
            tested.findings.equal(try await node.epoch(), nil, "the epoch")
            tested.findings.equal(try await node.follow(after: lost).atCursor, nil, "the entry at the cursor")
            tested.findings.equal(try await node.bounds()?.last, kept, "the last entry")
        },
        Rule(
            "After a failover, the marker inherits the last remaining entry, and lost purges are added again.",
            with: [.holdReplication, .failOver]
        ) { tested in
            let (node, epoch) = try await tested.begunNode()
            let kept = try await node.append(1, in: epoch)
            tested.findings.equal(try await node.confirm(1, in: epoch, wait: tested.limit), 1, "replicas")
            try await tested.engine.cause(.holdReplication)
            let lost = try await node.append(2, in: epoch)
            try await tested.engine.cause(.failOver)
            let later = try await node.begin(knowing: epoch.number, salt: 1)
            tested.findings.expect(later.number > epoch.number, "\(later.number) is not above \(epoch.number)")
            let marker = EpochMarker(name: later.name, inherited: kept)
            let batch = try await node.follow(after: kept)
            tested.findings.equal(batch.entries.map(\.content), [.marker(marker)], "the entries after the kept entry")
            tested.findings.equal(try await node.append(1, in: later), kept, "the position of the kept purge")
            let again = try await node.append(2, in: later)
            tested.findings.expect(again > lost, "the lost purge has its old position")
            tested.findings.equal(try await node.entry(at: again)?.content, .purge(tested.bytes(2)), "the lost purge")
        },
        Rule(
            "An old primary that keeps running accepts entries, but no replica confirms them.",
            with: [.holdReplication, .split]
        ) { tested in
            let (old, epoch) = try await tested.begunNode()
            try await old.append(1, in: epoch)
            tested.findings.equal(try await old.confirm(1, in: epoch, wait: tested.limit), 1, "replicas")
            try await tested.engine.cause(.holdReplication)
            try await tested.engine.cause(.split)
            let new = try await tested.node()
            let later = try await new.begin(knowing: epoch.number, salt: 1)
            let position = try await new.append(2, in: later)
            let stray = try await old.append(3, in: epoch)
            tested.findings.equal(try await old.confirm(1, in: epoch, wait: .milliseconds(20)), 0, "replicas")
            tested.findings.equal(try await old.entry(at: position), nil, "the new entry, at the old primary")
            tested.findings.equal(try await new.entry(at: stray), nil, "the stray entry, at the new primary")
            tested.findings.equal(try await new.follow(after: stray).atCursor, nil, "the entry at the stray cursor")
            tested.findings.equal(try await new.rejection(4, in: epoch.number), .wrongEpoch, "the old epoch")
            // Another takeover at the same time, by a node that does not know the new epoch.
            let another = try await old.begin(knowing: epoch.number + 1, salt: 2)
            tested.findings.expect(another.name != later.name, "two servers have the same epoch")
        },
    ]
}
