import FleetTesting
import FleetTier
import HoldfastTesting
import NIOCore
import Synchronization

/// Fleet values with one defect.
final class FaultyValues: FleetValues {
    enum Defect: CaseIterable {
        case bytesAreCut, gapsAreLeftOut, namesAreNotBounded, lengthIsNotBounded, valuesLiveLong, extendDoesNothing
        case extendStopsAtAGap, shortLifetimesAreRounded, orderIsIgnored, sameTimeStays, futureStays, strangersStay
        case headersAreNotLookedAt, rejectedPutKeepsTheLease, putEndsAnyLease, chunksAreSorted, chunksAreNotBounded
        case chunksLiveLong, chunksAreForgotten, allNodesLead, holderIsToldToWait, oneLeaseForAll, leasesLiveLong
        case anyNodeRenews, anyNodeReleases, passWaitsForTheLease, passNeedsALease, lookForgetsTheValue
        case valuesAreRemembered, engineIsGivenUp, fullEngineKeepsTheLease, deadlinesAreLong, cancelledCallTimesOut

        /// The beginning of the sentence that it breaks.
        var rule: String {
            switch self {
            case .bytesAreCut: "All nodes read a value"
            case .gapsAreLeftOut: "Values are returned in the order"
            case .namesAreNotBounded: "One call accepts"
            case .lengthIsNotBounded: "A value of the maximum length"
            case .valuesLiveLong: "A value disappears"
            case .extendDoesNothing: "'extend' sets"
            case .extendStopsAtAGap: "'extend' returns"
            case .shortLifetimesAreRounded: "A lifetime below"
            case .orderIsIgnored: "A later response"
            case .sameTimeStays: "A response with the same time"
            case .futureStays: "A value stamped more than a minute"
            case .strangersStay: "Bytes that are not a value"
            case .headersAreNotLookedAt: "Bytes without a header"
            case .rejectedPutKeepsTheLease: "A put releases its lease"
            case .putEndsAnyLease: "A put does not release"
            case .chunksAreSorted: "Chunks are returned"
            case .chunksAreNotBounded: "Too many chunks"
            case .chunksLiveLong: "A chunk disappears"
            case .chunksAreForgotten: "Many bodies"
            case .allNodesLead: "One node leads"
            case .holderIsToldToWait: "A node that holds the lease"
            case .oneLeaseForAll: "Leases of different names"
            case .leasesLiveLong: "A lease expires"
            case .anyNodeRenews: "'renew'"
            case .anyNodeReleases: "'release'"
            case .passWaitsForTheLease: "'pass' replaces"
            case .passNeedsALease: "'pass' needs"
            case .lookForgetsTheValue: "'readValue'"
            case .valuesAreRemembered: "A server that lost its data"
            case .engineIsGivenUp: "An engine is used again"
            case .fullEngineKeepsTheLease: "A full engine"
            case .deadlinesAreLong: "No call waits"
            case .cancelledCallTimesOut: "Canceling a call"
            }
        }
    }

    private let node: InMemoryFleetValues
    private let engine: InMemoryValueEngine
    private let defect: Defect
    private let remembered = Mutex<[ValueName: ByteBuffer]>([:])

    init(_ node: InMemoryFleetValues, _ engine: InMemoryValueEngine, _ defect: Defect) {
        self.node = node
        self.engine = engine
        self.defect = defect
    }

    private func lifetime(_ lifetime: Duration, _ long: Defect) -> Duration {
        if defect == .shortLifetimesAreRounded { return max(lifetime, .milliseconds(1)) }
        return defect == long ? lifetime + .seconds(86_400) : lifetime
    }

    private func limit(_ limit: Duration) -> Duration { defect == .deadlinesAreLong ? .seconds(3600) : limit }

    private func name(_ lease: ValueName) -> ValueName {
        defect == .oneLeaseForAll ? ValueName("hf1:test:{contract}:all") : lease
    }

    private func lease(_ lease: FetchLease) -> FetchLease { FetchLease(name: name(lease.name), token: lease.token) }

    // MARK: Values

    func values(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?] {
        if defect == .namesAreNotBounded, names.count > ValueLimits.mostNames { return names.map { _ in nil } }
        var values: [ByteBuffer?]
        do throws(FleetLogError) {
            values = try await node.values(names, within: self.limit(limit))
        } catch {
            throw defect == .cancelledCallTimesOut && error == .cancelled ? .timedOut : error
        }
        switch defect {
        case .bytesAreCut: values = values.map { $0?.getSlice(at: 0, length: max(0, ($0?.readableBytes ?? 0) - 1)) }
        case .gapsAreLeftOut: values = values.filter { $0 != nil }
        case .valuesAreRemembered:
            values = remembered.withLock { known in zip(names, values).map { $1 ?? known[$0] } }
        default: break
        }
        return values
    }

    func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration,
        releasing lease: FetchLease?,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        var (value, given) = (value, lease.map { self.lease($0) })
        let there = engine.content[name]
        switch defect {
        case .lengthIsNotBounded:
            value = value.getSlice(at: 0, length: min(value.readableBytes, ValueLimits.longestValue)) ?? value
        case .orderIsIgnored: engine.evict { $0 == name }
        case .sameTimeStays:
            if let there, ValueHeader(there)?.respondedAt == ValueHeader(value)?.respondedAt { return false }
        case .futureStays:
            if let there = there.flatMap({ ValueHeader($0) }), let new = ValueHeader(value),
                there.respondedAt > new.respondedAt
            {
                return false
            }
        case .strangersStay: if let there, ValueHeader(there) == nil { return false }
        case .headersAreNotLookedAt:
            engine.plant(value, as: name)
            return true
        case .putEndsAnyLease: if let lease { engine.evict { $0 == lease.name } }
        case .rejectedPutKeepsTheLease, .fullEngineKeepsTheLease: given = nil
        case .engineIsGivenUp:
            if remembered.withLock({ $0[name] != nil }), there == nil { throw .unreachable }
        default: break
        }
        let lifetime = self.lifetime(lifetime, .valuesLiveLong)
        let wasPut = try await node.put(value, as: name, for: lifetime, releasing: given, within: self.limit(limit))
        remembered.withLock { $0[name] = value }
        if let lease, given == nil, wasPut || defect == .fullEngineKeepsTheLease {
            _ = try await node.release(lease, within: limit)
        }
        return wasPut
    }

    func extend(_ names: [ValueName], for lifetime: Duration, within limit: Duration) async throws(FleetLogError)
        -> Bool
    {
        let found = names.allSatisfy { engine.content[$0] != nil }
        if defect == .extendDoesNothing { return found }
        if defect == .extendStopsAtAGap, !found { return false }
        return try await node.extend(names, for: self.lifetime(lifetime, .valuesLiveLong), within: self.limit(limit))
    }

    func chunks(_ names: [ValueName], within limit: Duration) async throws(FleetLogError) -> [ByteBuffer?] {
        if defect == .chunksAreNotBounded, names.count > ValueLimits.mostChunks { return names.map { _ in nil } }
        let names = defect == .chunksAreSorted ? names.sorted { $0.text < $1.text } : names
        return try await node.chunks(names, within: self.limit(limit))
    }

    func putChunks(_ chunks: [SealedChunk], for lifetime: Duration, within limit: Duration) async throws(FleetLogError)
    {
        if defect == .chunksAreForgotten, engine.content.count >= 50 { return }
        try await node.putChunks(chunks, for: self.lifetime(lifetime, .chunksLiveLong), within: self.limit(limit))
    }

    // MARK: Leases

    func lead(_ lease: FetchLease, for duration: Duration, within limit: Duration) async throws(FleetLogError)
        -> LeaseAnswer
    {
        let isHeld = engine.content[lease.name] != nil
        let duration = lifetime(duration, .leasesLiveLong)
        let answer = try await node.lead(self.lease(lease), for: duration, within: self.limit(limit))
        switch defect {
        case .allNodesLead: return .led
        case .holderIsToldToWait: return isHeld ? .held : answer
        default: return answer
        }
    }

    func readValue(at value: ValueName, lease: ValueName, within limit: Duration) async throws(FleetLogError)
        -> LeaseReading
    {
        var reading = try await node.readValue(at: value, lease: name(lease), within: self.limit(limit))
        if defect == .lookForgetsTheValue { reading.value = nil }
        if defect == .valuesAreRemembered { reading.value = reading.value ?? remembered.withLock { $0[value] } }
        return reading
    }

    func renew(_ lease: FetchLease, for duration: Duration, within limit: Duration) async throws(FleetLogError) -> Bool
    {
        let duration = lifetime(duration, .leasesLiveLong)
        if defect == .anyNodeRenews, engine.content[lease.name] != nil { return true }
        return try await node.renew(self.lease(lease), for: duration, within: self.limit(limit))
    }

    func release(_ lease: FetchLease, within limit: Duration) async throws(FleetLogError) -> Bool {
        if defect == .anyNodeReleases {
            let wasHeld = engine.content[lease.name] != nil
            engine.evict { $0 == lease.name }
            return wasHeld
        }
        return try await node.release(self.lease(lease), within: self.limit(limit))
    }

    func pass(_ lease: ValueName, for duration: Duration, within limit: Duration) async throws(FleetLogError) {
        let isHeld = engine.content[lease] != nil
        if defect == .passWaitsForTheLease, isHeld { return }
        if defect == .passNeedsALease, !isHeld { return }
        let duration = lifetime(duration, .leasesLiveLong)
        try await node.pass(name(lease), for: duration, within: self.limit(limit))
    }
}
