/// A message between the process that hands over its listeners and the process that takes them.
///
/// A message is a header of 8 bytes and a content: the letters `HFHO`, the version, the kind, and
/// the length of the content (16 bits, big-endian). The header and `refused` stay the same in all
/// versions, so that a process can say that it does not know the other's version.
package enum HandoverMessage: Sendable, Hashable {
    /// The new process asks for the listeners.
    case hello
    /// The old process offers them. Messages with their sockets follow.
    case offer(HandoverOffer)
    /// This number of descriptors comes with the message, in the order of the offer.
    case descriptors(UInt8)
    /// The new process needs nothing more but the store.
    case ready
    /// The new process cannot start, for this reason.
    case failed(String)
    /// The old process does not hand over its listeners, for this reason.
    case refused(String)
    /// The old process has released the store.
    case released
}

/// The reason that bytes are not a message.
package enum HandoverWireError: Error, Sendable, Hashable, CustomStringConvertible {
    /// They do not begin like a message.
    case garbage
    /// The other process speaks another version.
    case version(UInt8)
    /// The kind is unknown.
    case kind(UInt8)
    case tooLong(Int)
    /// The content does not belong to its kind.
    case content

    package var description: String {
        switch self {
        case .garbage: "The bytes are not a message of a handover."
        case .version(let version):
            "It speaks version \(version) of the handover, and this process version \(HandoverMessage.version). "
                + "Restart the gateway without '--takeover'."
        case .kind(let kind): "The message has the unknown kind \(kind)."
        case .tooLong(let length):
            "The message has \(length) bytes. The limit is \(HandoverLimits.message)."
        case .content: "The content of the message is malformed."
        }
    }
}

extension HandoverMessage {
    static let version: UInt8 = 1
    private static let magic = Array("HFHO".utf8)
    private static let headerLength = 8

    private enum Kind: UInt8 {
        case hello = 1
        case offer, descriptors, ready, failed, refused, released
    }

    private var kind: Kind {
        switch self {
        case .hello: .hello
        case .offer: .offer
        case .descriptors: .descriptors
        case .ready: .ready
        case .failed: .failed
        case .refused: .refused
        case .released: .released
        }
    }

    // MARK: Writing

    /// The message's bytes; `nil` if its content is too long.
    package var bytes: [UInt8]? {
        var content: [UInt8] = []
        switch self {
        case .hello, .ready, .released: break
        case .descriptors(let count): content = [count]
        case .failed(let reason), .refused(let reason): content = Self.shortened(reason)
        case .offer(let offer):
            guard let offer = offer.bytes else { return nil }
            content = offer
        }
        guard content.count <= HandoverLimits.message else { return nil }
        let length = UInt16(clamping: content.count)
        let lengthBytes = [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
        return Self.magic + [Self.version, kind.rawValue] + lengthBytes + content
    }

    /// Returns the bytes of a reason, cut between two characters if it is too long.
    private static func shortened(_ reason: String) -> [UInt8] {
        var reason = Substring(reason)
        while reason.utf8.count > HandoverLimits.reason { reason = reason.dropLast() }
        return Array(reason.utf8)
    }

    // MARK: Reading

    /// Takes the first message from the bytes that have arrived.
    ///
    /// - Returns: `nil` if the message is incomplete.
    package static func take(from bytes: inout ArraySlice<UInt8>) throws(HandoverWireError) -> HandoverMessage? {
        let header = bytes.prefix(headerLength)
        guard magic.starts(with: header.prefix(magic.count)) else { throw .garbage }
        guard header.count == headerLength else { return nil }
        var reader = HandoverReader(header.dropFirst(magic.count))
        guard let version = reader.byte(), let number = reader.byte(), let length = reader.number() else {
            throw .garbage
        }
        // The reason is the same in all versions, and says more than the version.
        guard version == Self.version || number == Kind.refused.rawValue else { throw .version(version) }
        guard let kind = Kind(rawValue: number) else { throw .kind(number) }
        guard length <= HandoverLimits.message else { throw .tooLong(Int(clamping: length)) }
        let rest = bytes.dropFirst(headerLength)
        guard rest.count >= Int(clamping: length) else { return nil }
        let content = rest.prefix(Int(clamping: length))
        guard let message = HandoverMessage(kind, content) else { throw .content }
        bytes = rest.dropFirst(content.count)
        return message
    }

    private init?(_ kind: Kind, _ content: ArraySlice<UInt8>) {
        var reader = HandoverReader(content)
        switch kind {
        case .hello: self = .hello
        case .ready: self = .ready
        case .released: self = .released
        case .descriptors:
            guard let count = reader.byte(), count > 0 else { return nil }
            self = .descriptors(count)
        case .failed, .refused:
            guard content.count <= HandoverLimits.reason, let reason = reader.text(content.count) else { return nil }
            self = kind == .failed ? .failed(reason) : .refused(reason)
        case .offer:
            guard let offer = HandoverOffer(&reader) else { return nil }
            self = .offer(offer)
        }
        guard reader.isAtEnd else { return nil }
    }
}
