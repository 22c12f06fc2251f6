import FleetTier
import NIOCore

/// Parses a server's replies about values. Any unexpected form is malformed.
enum ValueReplies {
    /// The reply of `GET`.
    static func value(_ reply: RESPValue) throws(FleetLogError) -> ByteBuffer? {
        switch reply {
        case .null: return nil
        case .bulkString(let bytes): return bytes
        default: throw .malformed("a value")
        }
    }

    /// The reply of `MGET`.
    static func values(_ reply: RESPValue, count: Int) throws(FleetLogError) -> [ByteBuffer?] {
        guard case .array(let elements) = reply, elements.count == count else { throw .malformed("values") }
        return try elements.map { element throws(FleetLogError) in try value(element) }
    }

    /// The reply of a script, or of `PEXPIRE`: whether something was done.
    static func flag(_ reply: RESPValue) throws(FleetLogError) -> Bool {
        switch reply {
        case .integer(0): return false
        case .integer(1): return true
        default: throw .malformed("a script's reply")
        }
    }

    /// The reply of `SET`.
    static func done(_ reply: RESPValue) throws(FleetLogError) {
        guard reply.text == "OK" else { throw .malformed("a reply to SET") }
    }
}
