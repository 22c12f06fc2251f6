import FleetTier

/// Converts errors of a connection and of a server to errors of the fleet.
extension FleetLogError {
    init(_ error: RedisTierError) {
        switch error.code {
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .malformed, .limit, .unexpected: self = .malformed("the server's bytes")
        case .busy: self = .refused("BUSY")
        case .unreachable, .rejected, .closed, .unavailable: self = .unreachable
        }
    }

    /// Throws for the first error reply.
    ///
    /// - Parameter isInCluster: whether redirections are expected. From a single server, they are
    ///   errors that an operator should see.
    /// - Throws: ``FleetTier/FleetLogError/unreachable`` for a primary that became a replica, or
    ///   that is not the same server as before: the caller should reconnect.
    static func check(_ replies: [RESPValue], isInCluster: Bool = false) throws(FleetLogError) {
        for case .error(let error) in replies {
            switch error.code {
            case "READONLY", "MASTERDOWN", "LOADING": throw .unreachable
            case "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN":
                throw isInCluster ? .unreachable : .refused(error.word)
            default: throw .refused(error.word)
            }
        }
    }
}

extension RESPValue {
    /// Whether a node did not perform a command because its slot is moving away.
    var isOfMovingSlot: Bool {
        guard case .error(let error) = self else { return false }
        return error.code == "ASK" || error.code == "TRYAGAIN"
    }
}

extension RESPServerError {
    /// The first word, if it is a code such as `WRONGTYPE`. The rest may quote arguments.
    fileprivate var word: String {
        let word = code.prefix(32)
        return word.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } ? String(word) : "ERR"
    }
}
