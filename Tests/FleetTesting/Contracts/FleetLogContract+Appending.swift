import FleetTier
import HTTPCache
import HoldfastTesting

extension FleetLogContract {
    /// Rules for `begin` and `epoch`.
    static let beginning: [Rule] = [
        Rule("A server has no epoch before 'begin', and then has the epoch that 'begin' returned.") { tested in
            let node = try await tested.node()
            tested.findings.equal(try await node.epoch(), nil, "the epoch before 'begin'")
            let epoch = try await node.begin()
            tested.findings.equal(try await node.epoch(), epoch, "the epoch after 'begin'")
            tested.findings.equal(try await tested.node().epoch(), epoch, "the epoch for another node")
        },
        Rule("A second 'begin' on the same server returns the same epoch, and adds nothing.") { tested in
            let (node, epoch) = try await tested.begunNode()
            tested.findings.equal(try await node.begin(knowing: epoch.number, salt: 1), epoch, "the second epoch")
            tested.findings.equal(try await tested.node().begin(salt: 2), epoch, "the epoch for another node")
            tested.findings.equal(try await node.positions().count, 1, "the entries")
        },
        Rule("The first epoch's marker has number 1 and the epoch's name, and inherits nothing.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let entry = try tested.findings.unwrap(try await node.follow().entries.first, "there is no marker")
            tested.findings.equal(entry.position, LogPosition(epoch: epoch.number, number: 1), "the position")
            let marker = EpochMarker(name: epoch.name, inherited: nil)
            tested.findings.equal(entry.content, .marker(marker), "the content")
        },
        Rule("A node that knows a higher epoch gets an epoch above it. Its marker inherits the last entry.") { tested in
            let (node, first) = try await tested.begunNode()
            let last = try await node.append(1, in: first)
            let known = first.number + 5
            let second = try await node.begin(knowing: known, salt: 1)
            tested.findings.expect(second.number > known, "\(second.number) is not above \(known)")
            tested.findings.expect(second.name != first.name, "both epochs have the same name")
            let marker = try await node.entry(at: LogPosition(epoch: second.number, number: 1))
            let expected = EpochMarker(name: second.name, inherited: last)
            tested.findings.equal(marker?.content, .marker(expected), "the marker")
            tested.findings.equal(try await node.positions().count, 3, "the entries")
        },
        Rule("A candidate that is not above the highest known epoch is rejected with that epoch, and adds nothing.") {
            tested in
            let (node, epoch) = try await tested.begunNode()
            for (known, candidate) in [(epoch.number + 1, epoch.number), (epoch.number + 1, epoch.number + 1)] {
                let name = LogEpoch(number: candidate, name: epoch.name)
                let error = await tested.error { () async throws(FleetLogError) in
                    let offer = EpochOffer(highestKnown: known, candidate: name)
                    _ = try await node.log.begin(offer, within: tested.limit)
                }
                tested.findings.equal(error, .lowEpoch(known), "the candidate \(candidate - epoch.number)")
            }
            tested.findings.equal(try await node.epoch(), epoch, "the epoch")
            tested.findings.equal(try await node.positions().count, 1, "the entries")
        },
        Rule("Nodes that begin at the same time share one epoch with one marker.") { tested in
            let epochs = try await withThrowingTaskGroup(of: LogEpoch.self) { group in
                for number in 0..<8 {
                    let node = try await tested.node()
                    group.addTask { try await node.begin(salt: UInt64(number)) }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            tested.findings.equal(epochs.count, 1, "the epochs")
            tested.findings.equal(try await tested.node().positions().count, 1, "the entries")
        },
    ]

    /// Rules for `append`, `entry` and `bounds`.
    static let appending: [Rule] = [
        Rule("Entries of an epoch have consecutive numbers, and keep their bytes.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for number in 0..<20 {
                let position = try await node.append(number, in: epoch)
                let expected = LogPosition(epoch: epoch.number, number: UInt64(number) + 2)
                tested.findings.equal(position, expected, "the position of entry \(number)")
            }
            for (number, entry) in try await node.follow().entries.dropFirst().enumerated() {
                tested.findings.equal(entry.content, .purge(tested.bytes(number)), "the content of entry \(number)")
                tested.findings.equal(try await node.entry(at: entry.position), entry, "entry \(number), alone")
            }
        },
        Rule("Entries up to the maximum length are returned; a longer entry is rejected, and not added.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for (number, length) in [1, 1000, LogEntry.longestSealed].enumerated() {
                let bytes = tested.bytes(number, length: length)
                let position = try await node.reach { () async throws(FleetLogError) in
                    try await node.log.append(
                        bytes,
                        purge: tested.purge(number),
                        in: epoch.number,
                        within: tested.limit
                    )
                }
                tested.findings.equal(try await node.entry(at: position)?.content, .purge(bytes), "\(length) bytes")
            }
            let long = tested.bytes(9, length: LogEntry.longestSealed + 1)
            let error = await tested.error { () async throws(FleetLogError) in
                _ = try await node.log.append(long, purge: tested.purge(9), in: epoch.number, within: tested.limit)
            }
            guard case .limit = error else { return tested.findings.add("longer entry: \(String(describing: error))") }
            tested.findings.equal(try await node.positions().count, 4, "the entries")
        },
        Rule("Entries that are appended together keep their order; a known entry keeps its position.") {
            tested in
            let (node, epoch) = try await tested.begunNode()
            let known = try await node.append(1, in: epoch)
            let positions = try await node.append([0, 1, 2, 3], in: epoch)
            let new = (3...5).map { LogPosition(epoch: epoch.number, number: $0) }
            tested.findings.equal(positions, [new[0], known, new[1], new[2]], "the places")
            for (number, position) in zip([0, 2, 3], new) {
                let content = try await node.entry(at: position)?.content
                tested.findings.equal(content, .purge(tested.bytes(number)), "the content of entry \(number)")
            }
            tested.findings.equal(try await node.append([3, 2], in: epoch), [new[2], new[1]], "the places, again")
            tested.findings.equal(try await node.positions().count, 5, "the entries")
        },
        Rule("The maximum number of entries can be appended together; none or too many are rejected, and not added.") {
            tested in
            let (node, epoch) = try await tested.begunNode()
            for count in [0, NewEntry.most + 1] {
                let entries = (0..<count).map { tested.entry($0) }
                let error = await tested.error { () async throws(FleetLogError) in
                    _ = try await node.log.append(entries, in: epoch.number, within: tested.limit)
                }
                guard case .limit = error else {
                    return tested.findings.add("\(count) entries: \(String(describing: error))")
                }
            }
            tested.findings.equal(try await node.positions().count, 1, "the entries")
            let positions = try await node.append(Array(0..<NewEntry.most), in: epoch)
            tested.findings.equal(Array(try await node.positions().dropFirst()), positions, "the log")
            tested.findings.equal(positions.count, NewEntry.most, "the places")
        },
        Rule("A purge that is in the log is not added again, whichever node appends it; its position is returned.") {
            tested in
            let (node, epoch) = try await tested.begunNode()
            let other = try await tested.node()
            let first = try await node.append(1, in: epoch)
            try await node.append(2, in: epoch)
            tested.findings.equal(try await node.append(1, in: epoch), first, "the position, from the same node")
            tested.findings.equal(try await other.append(1, in: epoch), first, "the position, from another node")
            tested.findings.equal(try await node.positions().count, 3, "the entries")
            // A later epoch of the same log also contains the entry.
            let later = try await node.begin(knowing: epoch.number + 1, salt: 1)
            tested.findings.equal(try await node.append(1, in: later), first, "the position, in a later epoch")
        },
        Rule("An entry for an epoch other than the current one is rejected, and not added.") { tested in
            let node = try await tested.node()
            tested.findings.equal(try await node.rejection(1, in: 1), .wrongEpoch, "before 'begin'")
            tested.findings.equal(try await node.bounds(), nil, "the bounds before 'begin'")
            let epoch = try await node.begin()
            for number in [epoch.number - 1, epoch.number + 1, 0, .max] {
                tested.findings.equal(try await node.rejection(1, in: number), .wrongEpoch, "epoch \(number)")
            }
            let later = try await node.begin(knowing: epoch.number + 1, salt: 1)
            tested.findings.equal(try await node.rejection(1, in: epoch.number), .wrongEpoch, "an earlier epoch")
            tested.findings.equal(try await node.positions().count, 2, "the entries")
            try await node.append(1, in: later)
        },
        Rule("Entries that several nodes append concurrently get consecutive, distinct positions.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let positions = try await withThrowingTaskGroup(of: [LogPosition].self) { group in
                for writer in 0..<4 {
                    let other = try await tested.node()
                    group.addTask {
                        var positions: [LogPosition] = []
                        for number in 0..<25 {
                            positions.append(try await other.append(writer * 100 + number, in: epoch))
                        }
                        return positions
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let expected = (2...101).map { LogPosition(epoch: epoch.number, number: $0) }
            tested.findings.equal(positions.sorted(), expected, "the places")
            tested.findings.equal(Array(try await node.positions().dropFirst()), expected, "the log")
        },
        Rule("The bounds are the first and the last entry; a position without an entry returns none.") { tested in
            let node = try await tested.node()
            tested.findings.equal(try await node.bounds(), nil, "the bounds of an empty log")
            let epoch = try await node.begin()
            let last = try await node.append(1, in: epoch)
            let first = LogPosition(epoch: epoch.number, number: 1)
            tested.findings.equal(try await node.bounds(), LogBounds(first: first, last: last), "the ends")
            for position in [LogPosition.zero, LogPosition(epoch: epoch.number, number: 3)] {
                tested.findings.equal(try await node.entry(at: position), nil, "the entry at \(position)")
            }
        },
        Rule("Entries have the engine's time, which never decreases.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let before = try await node.time()
            let position = try await node.append(1, in: epoch)
            let after = try await node.time()
            let added = try await node.entry(at: position)?.addedAt
            tested.findings.expect(
                added.map { (before...after).contains($0) } ?? false,
                "\(String(describing: added)) is not from \(before) to \(after)"
            )
        },
    ]
}
