import FleetTier
import NIOCore

/// Parses a server's replies about values. A reply of an unexpected form is malformed.
enum ValueReplies {
    /// Parses the reply to `GET`.
    static func value(_ reply: RESPValue) throws(FleetLogError) -> ByteBuffer? {
        switch reply {
        case .null: return nil
        case .bulkString(let bytes): return bytes
        default: throw .malformed("a value")
        }
    }

    /// Parses the reply to `MGET`.
    static func values(_ reply: RESPValue, count: Int) throws(FleetLogError) -> [ByteBuffer?] {
        guard case .array(let elements) = reply, elements.count == count else { throw .malformed("values") }
        return try elements.map { element throws(FleetLogError) in try value(element) }
    }

    /// Parses the reply of a script or of `PEXPIRE`, and returns whether anything was changed.
    static func flag(_ reply: RESPValue) throws(FleetLogError) -> Bool {
        switch reply {
        case .integer(0): return false
        case .integer(1): return true
        default: throw .malformed("a script's reply")
        }
    }

    /// Parses the reply to `SET`.
    static func done(_ reply: RESPValue) throws(FleetLogError) {
        guard reply.text == "OK" else { throw .malformed("a reply to SET") }
    }
}
