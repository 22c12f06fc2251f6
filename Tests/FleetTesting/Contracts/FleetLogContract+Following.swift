import FleetTier
import HTTPCache
import HoldfastTesting

extension FleetLogContract {
    /// Rules for `follow`.
    static let following: [Rule] = [
        Rule("'follow' returns the entries after the cursor, in order, and at most the requested count.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for number in 0..<10 { try await node.append(number, in: epoch) }
            let all = try await node.follow().entries
            tested.findings.equal(all.map(\.position.number), Array(1...11), "all numbers")
            for start in [1, 5, 10] {
                let rest = try await node.follow(after: all[start].position).entries
                tested.findings.equal(rest, Array(all[(start + 1)...]), "the entries after number \(start)")
                let some = try await node.follow(after: all[start].position, count: 3).entries
                tested.findings.equal(some, Array(all[(start + 1)...].prefix(3)), "three entries after number \(start)")
            }
        },
        Rule("A batch includes the entry at its cursor, or none if that entry is not in the log.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let position = try await node.append(1, in: epoch)
            let batch = try await node.follow(after: position)
            tested.findings.equal(batch.atCursor?.content, .purge(tested.bytes(1)), "the entry at the cursor")
            tested.findings.equal(batch.entries, [], "the entries")
            tested.findings.equal(batch.epoch, epoch, "the epoch")
            tested.findings.equal(try await node.follow().atCursor, nil, "the entry at zero")
            for number in [position.number + 1, .max] {
                let cursor = LogPosition(epoch: epoch.number, number: number)
                tested.findings.equal(try await node.follow(after: cursor).atCursor, nil, "the entry at \(cursor)")
            }
        },
        Rule("'follow' on a server without an epoch returns neither an epoch nor entries.") { tested in
            let batch = try await tested.node().follow()
            tested.findings.equal(batch, LogBatch(entries: [], epoch: nil, atCursor: nil), "the batch")
        },
        Rule("A reader that waits gets an entry that another node appends.") { tested in
            let (reader, epoch) = try await tested.begunNode()
            let writer = try await tested.node()
            var cursor = LogPosition(epoch: epoch.number, number: 1)
            for number in 0..<10 {
                async let batch = reader.follow(
                    after: LogPosition(epoch: epoch.number, number: UInt64(number) + 1),
                    wait: tested.limit
                )
                try await writer.append(number, in: epoch)
                let (entries, atCursor) = (try await batch.entries, try await batch.atCursor)
                tested.findings.equal(entries.map(\.content), [.purge(tested.bytes(number))], "entry \(number)")
                tested.findings.equal(atCursor?.position, cursor, "the cursor before entry \(number)")
                cursor = try tested.findings.unwrap(entries.last?.position, "nothing came")
            }
        },
        Rule("Each of several readers gets every entry once.") { tested in
            let (writer, epoch) = try await tested.begunNode()
            try await withThrowingTaskGroup(of: [LogPosition].self) { group in
                for _ in 0..<3 {
                    let reader = try await tested.node()
                    group.addTask {
                        var seen: [LogPosition] = []
                        while seen.count < 31 {
                            let batch = try await reader.follow(after: seen.last ?? .zero, count: 7, wait: tested.limit)
                            seen += batch.entries.map(\.position)
                        }
                        return seen
                    }
                }
                for number in 0..<30 { try await writer.append(number, in: epoch) }
                for try await seen in group {
                    tested.findings.equal(seen.map(\.number), Array(1...31), "the numbers that a reader saw")
                }
            }
        },
        Rule("A wait that ends without an entry is an empty batch with the epoch and the entry at the cursor.") {
            tested in
            let (node, epoch) = try await tested.begunNode()
            let cursor = LogPosition(epoch: epoch.number, number: 1)
            async let batch = node.follow(after: cursor, wait: .milliseconds(20))
            await tested.engine.passTime()
            let (entries, present, atCursor) = (
                try await batch.entries, try await batch.epoch, try await batch.atCursor
            )
            tested.findings.equal(entries, [], "the entries")
            tested.findings.equal(present, epoch, "the epoch")
            tested.findings.equal(atCursor?.position, cursor, "the entry at the cursor")
        },
        Rule("A count below 1 or above the maximum is rejected.") { tested in
            let (node, _) = try await tested.begunNode()
            for count in [0, -1, LogBatch.mostEntries + 1] {
                let error = await tested.error { () async throws(FleetLogError) in
                    _ = try await node.log.follow(after: .zero, count: count, wait: .zero, within: tested.limit)
                }
                guard case .limit = error else { return tested.findings.add("\(count): \(String(describing: error))") }
            }
        },
    ]

    /// Rules for `trim`.
    static let trimming: [Rule] = [
        Rule("'trim' to a count removes the oldest entries; the last entry always stays.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for number in 0..<9 { try await node.append(number, in: epoch) }
            for (count, first) in [(100, 1), (10, 1), (4, 7), (1, 10), (0, 10)] as [(Int, UInt64)] {
                try await node.trim(LogRetention(count: count))
                let numbers = try await node.positions().map(\.number)
                tested.findings.equal(numbers, Array(first...10), "the numbers after 'trim' to \(count)")
            }
        },
        Rule("'trim' by time removes entries that were added earlier, and keeps the last entry.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for number in 0..<3 { try await node.append(number, in: epoch) }
            let entries = try await node.follow().entries
            let old = try tested.findings.unwrap(entries.last, "there are no entries")
            try await node.wait(past: old.addedAt)
            let young = try await node.append(9, in: epoch)
            let addedAt = try tested.findings.unwrap(try await node.entry(at: young)?.addedAt, "the entry is gone")
            try await node.trim(LogRetention(since: entries[0].addedAt))
            tested.findings.equal(try await node.positions().count, 5, "the entries when none is old")
            try await node.trim(LogRetention(since: addedAt))
            tested.findings.equal(try await node.positions(), [young], "the entries when one is young")
            try await node.trim(LogRetention(since: addedAt.adding(.seconds(3600))))
            tested.findings.equal(try await node.positions(), [young], "the entries when none is young")
        },
        Rule("Numbers continue after a trim, and a cursor that was trimmed has no entry.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let old = try await node.append(1, in: epoch)
            let kept = try await node.append(2, in: epoch)
            try await node.trim(LogRetention(count: 1))
            let next = try await node.append(3, in: epoch)
            tested.findings.equal(next.number, kept.number + 1, "the next number")
            let batch = try await node.follow(after: old)
            tested.findings.equal(batch.atCursor, nil, "the entry at the cursor")
            tested.findings.equal(batch.entries.map(\.position), [kept, next], "the entries")
            tested.findings.equal(batch.epoch, epoch, "the epoch")
            tested.findings.equal(try await node.bounds(), LogBounds(first: kept, last: next), "the ends")
        },
        Rule("A purge whose entry was trimmed is added again.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let first = try await node.append(1, in: epoch)
            try await node.append(2, in: epoch)
            try await node.trim(LogRetention(count: 1))
            let again = try await node.append(1, in: epoch)
            tested.findings.expect(again > first, "it has its old position \(first)")
            tested.findings.equal(try await node.entry(at: again)?.content, .purge(tested.bytes(1)), "the entry")
        },
        Rule("The marker of an epoch after a trim inherits the last entry.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for number in 0..<3 { try await node.append(number, in: epoch) }
            let last = try await node.append(9, in: epoch)
            try await node.trim(LogRetention(count: 1))
            let later = try await node.begin(knowing: epoch.number + 1, salt: 1)
            let marker = try await node.entry(at: LogPosition(epoch: later.number, number: 1))
            let expected = EpochMarker(name: later.name, inherited: last)
            tested.findings.equal(marker?.content, .marker(expected), "the marker")
        },
    ]
}
