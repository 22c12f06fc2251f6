import HTTPCacheSemantics
import HTTPTypes

/// The options in `Connection` that concern the connection itself. RFC 9112 §9.3
package struct ConnectionOptions {
    package private(set) var closes = false
    private(set) var keepsAlive = false
    /// Whether the client asks to switch to another protocol. RFC 9110 §7.8
    private(set) var upgrades = false
    /// Whether the field lists connection-specific fields. RFC 9110 §7.6.1
    package private(set) var namesFields = false

    package init() {}

    init(_ fields: HTTPFields) {
        for index in fields.indices where fields[index].name.canonicalName == "connection" {
            fields[index].withUnsafeBytesOfValue { add($0) }
        }
    }

    /// Adds the options in one field value. It creates no strings or arrays, because most messages
    /// have one or two options.
    package mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            let option = rest[..<end].trimmingWhitespace()
            if option.isToken("close") {
                closes = true
            } else if option.isToken("keep-alive") {
                keepsAlive = true
            } else if !option.isEmpty {
                if option.isToken("upgrade") { upgrades = true }
                namesFields = true
            }
            rest = rest[end...].dropFirst()
        }
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    /// Whether the bytes are a token, ignoring case. RFC 9110 §5.6.2
    ///
    /// - Parameter token: the token in lowercase.
    fileprivate func isToken(_ token: StaticString) -> Bool {
        guard count == token.utf8CodeUnitCount else { return false }
        return token.withUTF8Buffer { zip(self, $0).allSatisfy { ($0.isAlpha ? $0 | 0x20 : $0) == $1 } }
    }
}
