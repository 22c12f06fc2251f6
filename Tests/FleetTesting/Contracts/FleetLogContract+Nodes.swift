import FleetTier
import HTTPCache
import HoldfastTesting

extension FleetLogContract {
    /// Rules for `confirm`.
    static let confirming: [Rule] = [
        Rule("'confirm' with no replicas returns, and is rejected in another epoch.") { tested in
            let (node, epoch) = try await tested.begunNode()
            tested.findings.expect(try await node.confirm(0, in: epoch, wait: .zero) >= 0, "a negative number")
            for number in [epoch.number + 1, epoch.number - 1] {
                let error = await tested.error { () async throws(FleetLogError) in
                    _ = try await node.log.confirm(replicas: 0, in: number, wait: .zero, within: tested.limit)
                }
                tested.findings.equal(error, .wrongEpoch, "epoch \(number)")
            }
        },
        Rule("'confirm' counts a replica, but not if it receives nothing.", with: [.holdReplication]) { tested in
            let (node, epoch) = try await tested.begunNode()
            try await node.append(1, in: epoch)
            tested.findings.equal(try await node.confirm(1, in: epoch, wait: tested.limit), 1, "replicas")
            try await tested.engine.cause(.holdReplication)
            try await node.append(2, in: epoch)
            let count = try await node.confirm(1, in: epoch, wait: .milliseconds(20))
            tested.findings.equal(count, 0, "replicas when the link is down")
        },
    ]

    /// Rules for `announce` and `nodes`.
    static let announcing: [Rule] = [
        Rule("Node rows are returned in the order of their names, with the engine's time.") { tested in
            let (node, epoch) = try await tested.begunNode()
            tested.findings.equal(try await node.nodes(), [], "the rows before the first")
            let reports = [
                try tested.report("gw-2", LogPosition(epoch: epoch.number, number: 1), unpublished: 3),
                try tested.report("a.b_c-D:9"), try tested.report("gw-10", unpublished: .max),
            ]
            let before = try await node.time()
            for report in reports { try await node.announce(report, in: epoch) }
            let after = try await node.time()
            let rows = try await tested.node().nodes()
            tested.findings.equal(rows.map(\.report), [reports[1], reports[2], reports[0]], "the rows")
            for row in rows where !(before...after).contains(row.seenAt) {
                tested.findings.add("\(row.report.name) was seen at \(row.seenAt), not from \(before) to \(after)")
            }
        },
        Rule("A node has one row: the row that it wrote last.") { tested in
            let (node, epoch) = try await tested.begunNode()
            for number in 1...3 as ClosedRange<UInt64> {
                let report = try tested.report("gw-1", LogPosition(epoch: epoch.number, number: number))
                try await node.announce(report, in: epoch)
                tested.findings.equal(try await node.nodes().map(\.report), [report], "the rows after number \(number)")
            }
        },
        Rule("Two nodes with the same name have two rows.") { tested in
            let (node, epoch) = try await tested.begunNode()
            var reports = [try tested.report("gw-1"), try tested.report("gw-1"), try tested.report("gw-1")]
            // A copy of the store, and a different store.
            reports[1].identity.process &+= 1
            reports[2].identity.store = tested.purge(3)
            for report in reports { try await node.announce(report, in: epoch) }
            let rows = try await node.nodes()
            tested.findings.equal(Set(rows.map(\.report)), Set(reports), "the rows")
            tested.findings.equal(rows, rows.inOrder, "the order")
        },
        Rule("'amend' writes a missing row with its time, and leaves an existing row.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let time = EngineTime(milliseconds: try await node.time().milliseconds - 90_000)
            let lost = NodeRow(report: try tested.report("lost", unpublished: 5), seenAt: time)
            try await node.announce(try tested.report("there", unpublished: 1), in: epoch)
            let there = try tested.findings.unwrap(try await node.nodes().first, "there is no row")
            var older = there
            older.report.unpublished = 7
            try await node.amend([NodeRowChange(lost), NodeRowChange(older)], in: epoch)
            tested.findings.equal(try await node.nodes(), [lost, there], "the rows")
        },
        Rule("'amend' changes a row only if it is the expected one.") { tested in
            let (node, epoch) = try await tested.begunNode()
            try await node.announce(try tested.report("gw-1"), in: epoch)
            let first = try tested.findings.unwrap(try await node.nodes().first, "there is no row")
            var ended = first
            ended.report.hasEnded = true
            try await node.wait(past: first.seenAt)
            try await node.announce(try tested.report("gw-1"), in: epoch)
            let second = try await node.nodes()
            try await node.amend([NodeRowChange(ended, insteadOf: first)], in: epoch)
            tested.findings.equal(try await node.nodes(), second, "the rows after a concurrent report")
            try await node.amend([NodeRowChange(ended, insteadOf: second.first)], in: epoch)
            tested.findings.equal(try await node.nodes(), [ended], "the rows")
        },
        Rule("'amend' is rejected in another epoch, with no rows, and with too many rows.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let change = NodeRowChange(NodeRow(report: try tested.report("gw-1"), seenAt: try await node.time()))
            for (number, changes, expected) in [
                (epoch.number - 1, [change], FleetLogError.wrongEpoch), (epoch.number + 1, [change], .wrongEpoch),
                (epoch.number, [], .limit("rows")),
                (epoch.number, Array(repeating: change, count: NodeRowChange.most + 1), .limit("rows")),
            ] {
                let error = await tested.error { () async throws(FleetLogError) in
                    try await node.log.amend(changes, in: number, within: tested.limit)
                }
                tested.findings.equal(error, expected, "epoch \(number), \(changes.count) rows")
            }
            tested.findings.equal(try await node.nodes(), [], "the rows")
        },
        Rule("A row for an epoch other than the current one is rejected, and not written.") { tested in
            let (node, epoch) = try await tested.begunNode()
            let report = try tested.report("gw-1")
            for number in [epoch.number - 1, epoch.number + 1] {
                let error = await tested.error { () async throws(FleetLogError) in
                    try await node.log.announce(report, in: number, within: tested.limit)
                }
                tested.findings.equal(error, .wrongEpoch, "epoch \(number)")
            }
            tested.findings.equal(try await node.nodes(), [], "the rows")
        },
        Rule("'trim' removes the rows that were written before a time.") { tested in
            let (node, epoch) = try await tested.begunNode()
            try await node.announce(try tested.report("old"), in: epoch)
            let old = try tested.findings.unwrap(try await node.nodes().first?.seenAt, "there is no row")
            try await node.wait(past: old)
            try await node.announce(try tested.report("young"), in: epoch)
            try await node.trim(LogRetention(nodesSince: old))
            tested.findings.equal(try await node.nodes().count, 2, "the rows when none is old")
            try await node.trim(LogRetention(nodesSince: old.adding(.milliseconds(1))))
            tested.findings.equal(try await node.nodes().map(\.report.name.text), ["young"], "the rows")
        },
    ]
}
