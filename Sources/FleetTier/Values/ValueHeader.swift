package import HTTPCache
package import NIOCore

/// The unencrypted part of a value. The server needs it to order puts, and a node needs it before
/// it opens the rest. The header is authenticated together with the rest.
///
/// ```
/// 4 "HFs1"   1 version   1 flags   1 key id   1 zero   8 response time   16 fencing: epoch, number
/// ```
/// Numbers are big-endian. The response time is in milliseconds on the server's clock, and is not
/// negative.
package struct ValueHeader: Sendable, Hashable {
    /// The kinds of values.
    package enum Kind: UInt8, Sendable {
        case response = 0
        case chunkedResponse = 1
        case varyList = 2
    }

    /// The length of the header, in bytes.
    package static let length = 32
    /// The first bytes of each value.
    package static let magic = "HFs1"
    static let version: UInt8 = 1

    package var kind: Kind
    package var keyID: UInt8
    package var respondedAt: EngineTime
    package var fencingPosition: LogPosition

    init(kind: Kind, keyID: UInt8, respondedAt: EngineTime, fencingPosition: LogPosition) {
        self.kind = kind
        self.keyID = keyID
        self.respondedAt = max(respondedAt, EngineTime(milliseconds: 0))
        self.fencingPosition = fencingPosition
    }

    /// Reads the header of a value without verifying it; returns `nil` if the value has no header
    /// of this version.
    package init?(_ value: ByteBuffer) {
        var value = value
        guard value.readString(length: 4) == Self.magic, value.readInteger(as: UInt8.self) == Self.version,
            let kind = value.readInteger(as: UInt8.self).flatMap({ Kind(rawValue: $0) }),
            let keyID = value.readInteger(as: UInt8.self), value.readInteger(as: UInt8.self) == 0,
            let time = value.readInteger(as: UInt64.self), let milliseconds = Int64(exactly: time),
            let epoch = value.readInteger(as: UInt64.self), let number = value.readInteger(as: UInt64.self)
        else { return nil }
        self.init(
            kind: kind,
            keyID: keyID,
            respondedAt: EngineTime(milliseconds: milliseconds),
            fencingPosition: LogPosition(epoch: epoch, number: number)
        )
    }

    var bytes: [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeString(Self.magic)
        buffer.writeInteger(Self.version)
        buffer.writeInteger(kind.rawValue)
        buffer.writeInteger(keyID)
        buffer.writeInteger(0 as UInt8)
        buffer.writeInteger(UInt64(clamping: respondedAt.milliseconds))
        buffer.writeInteger(fencingPosition.epoch)
        buffer.writeInteger(fencingPosition.number)
        return Array(buffer.readableBytesView)
    }
}
