import SharedTier

/// Errors of a connection and of a server, in the words of the shared tier.
extension SharedLogError {
    init(_ error: RedisTierError) {
        switch error.code {
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .malformed, .limit, .unexpected: self = .malformed("the server's bytes")
        case .busy: self = .refused("BUSY")
        case .unreachable, .rejected, .closed, .unavailable: self = .unreachable
        }
    }

    /// Looks for an error reply.
    ///
    /// - Throws: ``SharedTier/SharedLogError/unreachable`` for a primary that became a replica, or
    ///   that is not the server of before: the caller should connect again.
    static func check(_ replies: [RESPValue]) throws(SharedLogError) {
        for case .error(let error) in replies {
            switch error.code {
            case "READONLY", "MASTERDOWN", "LOADING": throw .unreachable
            default: throw .refused(error.word)
            }
        }
    }
}

extension RESPServerError {
    /// The first word, if it is one such as `WRONGTYPE`. The rest may quote arguments.
    fileprivate var word: String {
        let word = code.prefix(32)
        return word.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } ? String(word) : "ERR"
    }
}
