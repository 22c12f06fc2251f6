import NIOCore

/// A protobuf message, written field by field.
struct ProtobufMessage {
    private(set) var bytes = ByteBuffer()

    mutating func number(_ field: Int, _ value: UInt64) {
        varint(UInt64(field << 3))
        varint(value)
    }

    mutating func fixed64(_ field: Int, _ value: UInt64) {
        varint(UInt64(field << 3 | 1))
        bytes.writeInteger(value, endianness: .little)
    }

    mutating func fixed32(_ field: Int, _ value: UInt32) {
        varint(UInt64(field << 3 | 5))
        bytes.writeInteger(value, endianness: .little)
    }

    mutating func bytes(_ field: Int, _ value: [UInt8]) {
        varint(UInt64(field << 3 | 2))
        varint(UInt64(value.count))
        bytes.writeBytes(value)
    }

    /// Writes a string, unless it is empty, which is the default.
    mutating func text(_ field: Int, _ value: String) {
        if !value.isEmpty { bytes(field, Array(value.utf8)) }
    }

    mutating func message(_ field: Int, _ write: (inout ProtobufMessage) -> Void) {
        var message = ProtobufMessage()
        write(&message)
        varint(UInt64(field << 3 | 2))
        varint(UInt64(message.bytes.readableBytes))
        bytes.writeImmutableBuffer(message.bytes)
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.writeInteger(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.writeInteger(UInt8(rest))
    }
}
