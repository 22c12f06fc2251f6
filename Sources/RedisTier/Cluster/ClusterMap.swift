/// The slots that each primary owns, as reported by one node of a cluster.
struct ClusterMap: Sendable, Hashable {
    static let mostPrimaries = 64
    static let mostReplicas = 64
    /// The maximum number of ranges: each slot may be its own range.
    static let mostRanges = HashSlot.count
    private static let none = UInt8.max

    /// The primaries without duplicates, in the order of their first slots.
    let primaries: [RedisEndpoint]
    /// The replicas, which may know a new primary.
    let replicas: [RedisEndpoint]
    /// The index into ``primaries`` for each slot.
    private let owners: [UInt8]

    /// Reads the reply to `CLUSTER SLOTS`: slot ranges, each with its primary and replicas.
    ///
    /// - Parameter source: the node that replied. If a node's host is missing, the host of `source`
    ///   is used.
    /// - Throws: ``RedisTierError/Code/unreachable`` if the map cannot be used.
    init(_ reply: RESPValue, from source: RedisEndpoint) throws(RedisTierError) {
        guard case .array(let ranges) = reply, ranges.count <= Self.mostRanges else {
            throw .map("it has an unknown form")
        }
        var places: [RedisEndpoint: UInt8] = [:]
        var primaries: [RedisEndpoint] = []
        var replicas: [RedisEndpoint] = []
        var owners = [UInt8](repeating: Self.none, count: HashSlot.count)
        for range in ranges {
            guard case .array(let parts) = range, parts.count >= 3, case .integer(let first) = parts[0],
                case .integer(let last) = parts[1], first >= 0, first <= last, last < HashSlot.count
            else { throw .map("a range has an unknown form") }
            for replica in parts[3...] where replicas.count < Self.mostReplicas {
                guard let endpoint = Self.endpoint(replica, source), !replicas.contains(endpoint) else { continue }
                replicas.append(endpoint)
            }
            // If the primary's address is unknown, its slots have no owner.
            guard let primary = Self.endpoint(parts[2], source) else { continue }
            if places[primary] == nil {
                guard primaries.count < Self.mostPrimaries else {
                    throw .map("it has more than \(Self.mostPrimaries) primaries")
                }
                places[primary] = UInt8(primaries.count)
                primaries.append(primary)
            }
            for slot in Int(first)...Int(last) {
                guard owners[slot] == Self.none else { throw .map("a slot has two owners") }
                owners[slot] = places[primary] ?? Self.none
            }
        }
        (self.primaries, self.replicas, self.owners) = (primaries, replicas, owners)
    }

    /// Returns the primary of a slot; `nil` if no node owns the slot.
    func owner(of slot: HashSlot) -> RedisEndpoint? {
        let place = owners[slot.number]
        return place == Self.none ? nil : primaries[Int(place)]
    }

    /// Reads a node: an array of host, port, and further elements that are not needed here.
    private static func endpoint(_ node: RESPValue, _ source: RedisEndpoint) -> RedisEndpoint? {
        guard case .array(let parts) = node, parts.count >= 2, case .integer(let port) = parts[1] else { return nil }
        let host: String
        switch parts[0] {
        case .null: host = ""
        default:
            guard let text = parts[0].text else { return nil }
            host = text
        }
        return .inCluster(host, Int(clamping: port), from: source)
    }
}

extension RedisEndpoint {
    /// Returns the endpoint of a node that another node reported; `nil` if the endpoint is unknown
    /// or invalid. An empty host means the reporting node's host, and `?` means that the host is
    /// unknown.
    static func inCluster(_ host: String, _ port: Int, from source: RedisEndpoint) -> RedisEndpoint? {
        var host = host
        if host.isEmpty, case .tcp(let same, _) = source { host = same }
        guard (1...253).contains(host.utf8.count), host != "?", (1...65_535).contains(port) else { return nil }
        return .tcp(host: host, port: port)
    }
}

extension RedisTierError {
    fileprivate static func map(_ fault: String) -> RedisTierError {
        RedisTierError(.unreachable, "The map of the cluster's slots cannot be used: \(fault).")
    }
}
