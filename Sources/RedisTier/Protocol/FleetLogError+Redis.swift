import FleetTier

/// Converts connection and server errors to fleet errors.
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

    /// Throws an error for the first error reply, if there is one.
    ///
    /// - Parameter isInCluster: whether redirections are expected. A redirection from a single
    ///   server is an error that the operator should see.
    /// - Throws: ``FleetTier/FleetLogError/unreachable`` if the primary became a replica or is a
    ///   different server than before. The caller should reconnect.
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
    /// Whether a node did not execute a command because its slot is migrating.
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
