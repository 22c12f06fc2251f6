package import FleetTier
package import NIOCore
import Synchronization

/// A node's connection to an ``InMemoryValueEngine``.
package final class InMemoryFleetValues: FleetValues {
    private struct Link {
        var isCut = false
        var lostReplies = 0
    }

    private let engine: InMemoryValueEngine
    private let link = Mutex(Link())

    init(engine: InMemoryValueEngine) { self.engine = engine }

    // MARK: Faults

    /// Cuts the node off from the engine, so that all calls fail.
    package func cut() { link.withLock { $0.isCut = true } }

    /// Reverses ``cut()``.
    package func mend() { link.withLock { $0.isCut = false } }

    /// Loses the replies to the next calls: the calls take effect but time out.
    package func loseReplies(_ count: Int) { link.withLock { $0.lostReplies = count } }

    private func perform<Value>(
        within limit: Duration,
        _ body: (inout ValueTable) throws(FleetLogError) -> Value
    ) async throws(FleetLogError) -> Value {
        guard !link.withLock({ $0.isCut }) else { throw .unreachable }
        let value = try await engine.perform(within: limit, body)
        let isLost = link.withLock { link in
            defer { link.lostReplies = max(0, link.lostReplies - 1) }
            return link.lostReplies > 0
        }
        if isLost { throw .timedOut }
        return value
    }

    // MARK: Values

    package func values(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?] {
        guard names.count <= ValueLimits.mostNames else { throw .limit("names") }
        return try await perform(within: limit) { table throws(FleetLogError) in names.map { table[$0] } }
    }

    package func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration,
        releasing lease: FetchLease?,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        guard value.readableBytes <= ValueLimits.longestValue, let header = ValueHeader(value) else {
            throw .limit("value")
        }
        try Self.check(lifetime)
        return try await perform(within: limit) { table throws(FleetLogError) in
            // The lease is released even if there is no memory for the value.
            defer { if let lease, table.holds(lease) { table.remove(lease.name) } }
            if let there = table[name].flatMap({ ValueHeader($0) }), there.respondedAt > header.respondedAt,
                there.respondedAt <= table.now.adding(.seconds(60))
            {
                return false
            }
            try table.put(value, as: name, for: lifetime)
            return true
        }
    }

    package func extend(
        _ names: [ValueName],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        guard names.count <= ValueLimits.mostExtended else { throw .limit("names") }
        try Self.check(lifetime)
        return try await perform(within: limit) { table throws(FleetLogError) in
            names.reduce(true) { all, name in table.extend(name, for: lifetime) && all }
        }
    }

    package func chunks(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?] {
        guard names.count <= ValueLimits.mostChunks else { throw .limit("names") }
        return try await perform(within: limit) { table throws(FleetLogError) in names.map { table[$0] } }
    }

    package func putChunks(
        _ chunks: [SealedChunk],
        for lifetime: Duration,
        within limit: Duration
    ) async throws(FleetLogError) {
        guard chunks.count <= ValueLimits.mostChunks else { throw .limit("chunks") }
        guard chunks.allSatisfy({ $0.bytes.readableBytes <= ValueLimits.longestChunk }) else { throw .limit("chunk") }
        try Self.check(lifetime)
        try await perform(within: limit) { table throws(FleetLogError) in
            for chunk in chunks { try table.put(chunk.bytes, as: chunk.name, for: lifetime) }
        }
    }

    // MARK: Leases

    package func lead(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LeaseAnswer {
        try Self.check(duration)
        return try await perform(within: limit) { table throws(FleetLogError) in
            guard let there = table[lease.name] else {
                table.write(ByteBuffer(string: "\(lease.token)"), as: lease.name, for: duration)
                return .led
            }
            if table.holds(lease) { return .led }
            return String(buffer: there) == LeaseToken.pass ? .pass : .held
        }
    }

    package func readValue(
        at value: ValueName,
        lease: ValueName,
        within limit: Duration
    ) async throws(FleetLogError) -> LeaseReading {
        try await perform(within: limit) { table throws(FleetLogError) in
            let there = table[lease].map { String(buffer: $0) }
            let state: LeaseReading.State = there == nil ? .free : there == LeaseToken.pass ? .pass : .held
            return LeaseReading(value: table[value], lease: state)
        }
    }

    package func renew(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        try Self.check(duration)
        return try await perform(within: limit) { table throws(FleetLogError) in
            table.holds(lease) && table.extend(lease.name, for: duration)
        }
    }

    package func release(_ lease: FetchLease, within limit: Duration) async throws(FleetLogError) -> Bool {
        try await perform(within: limit) { table throws(FleetLogError) in
            guard table.holds(lease) else { return false }
            table.remove(lease.name)
            return true
        }
    }

    package func pass(_ lease: ValueName, for duration: Duration, within limit: Duration) async throws(FleetLogError) {
        try Self.check(duration)
        try await perform(within: limit) { table throws(FleetLogError) in
            table.write(ByteBuffer(string: LeaseToken.pass), as: lease, for: duration)
        }
    }

    private static func check(_ lifetime: Duration) throws(FleetLogError) {
        guard lifetime >= .milliseconds(1) else { throw .limit("lifetime") }
    }
}

extension ValueTable {
    fileprivate func holds(_ lease: FetchLease) -> Bool {
        self[lease.name].map { String(buffer: $0) } == lease.token.description
    }
}
