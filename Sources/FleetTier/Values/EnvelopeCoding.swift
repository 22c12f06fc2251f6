import HTTPCache
import HTTPCacheSemantics
import NIOCore

// The format of sealed content. Numbers are little-endian. A part of variable length is preceded by
// its length, and each length is compared with its limit before it is used.
//
// A response:  key, tags, freshUntil, whether it may be served stale, storedAt, when it was
//              received on the node's own clock, head, body
// A body:      its bytes, or: length, number of chunks, id, digest
// A list:      key, lists of names

extension ResponseEnvelope {
    func encoded() throws(FleetLogError) -> [UInt8] {
        let head = HeadCodec.encode(content.head)
        guard key.bytes.count <= EnvelopeSealer.longestKey else { throw .limit("key") }
        guard content.hasAcceptableTags else { throw .limit("tags") }
        guard head.count <= EnvelopeSealer.longestHead else { throw .limit("head") }
        var writer = ByteWriter(reservingCapacity: 256 + key.bytes.count + head.count + inlineLength)
        writer.write(prefixed: key.bytes)
        writer.write(UInt32(tags.count))
        for tag in tags { writer.write(prefixed: tag) }
        writer.write(content.freshUntil.milliseconds)
        writer.write(content.isUsableStale ? 1 : 0 as UInt8)
        writer.write(content.storedAt.milliseconds)
        writer.write(receivedLocally.milliseconds)
        writer.write(prefixed: head)
        switch body {
        case .inline(let bytes):
            guard bytes.readableBytes <= ValueLimits.chunkLength else { throw .limit("body") }
            writer.write(prefixed: bytes.readableBytesView)
        case .chunks(let body):
            guard body.length > ValueLimits.chunkLength, body.digest.count == ChunkedBody.digestLength else {
                throw .limit("body")
            }
            writer.write(Int64(body.length))
            writer.write(UInt32(clamping: body.count))
            writer.write(body.id.bits)
            writer.write(prefixed: body.digest)
        }
        return writer.bytes
    }

    private var inlineLength: Int {
        if case .inline(let bytes) = body { bytes.readableBytes } else { 64 }
    }

    /// - Returns: `nil` for content that no node would seal with this header.
    init?(_ content: [UInt8], _ header: ValueHeader) {
        let envelope = content.withUnsafeBytes { bytes -> ResponseEnvelope? in
            var reader = ByteReader(bytes)
            guard let key = reader.readKey(), let tags = reader.readTags(),
                let freshUntil = reader.read(Int64.self),
                let isUsableStale = reader.read(UInt8.self), isUsableStale <= 1,
                let storedAt = reader.read(Int64.self),
                let receivedLocally = reader.read(Int64.self),
                let head = reader.readBounded(EnvelopeSealer.longestHead).flatMap({ HeadCodec.decode($0) }),
                ValueHeader(
                    kind: header.kind,
                    keyID: header.keyID,
                    respondedAt: EngineTime(milliseconds: head.responseTime.milliseconds),
                    fencingPosition: header.fencingPosition
                ) == header,
                let body = reader.readBody(header.kind), reader.remaining == 0
            else { return nil }
            return ResponseEnvelope(
                content: ResponseDraft(
                    key: key,
                    head: head,
                    freshUntil: Timestamp(milliseconds: freshUntil),
                    isUsableStale: isUsableStale == 1,
                    storedAt: Timestamp(milliseconds: storedAt),
                    tags: tags
                ),
                receivedLocally: Timestamp(milliseconds: receivedLocally),
                fencingPosition: header.fencingPosition,
                body: body
            )
        }
        guard let envelope else { return nil }
        self = envelope
    }
}

extension VaryList {
    var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 128 + key.bytes.count)
        writer.write(prefixed: key.bytes)
        writer.write(UInt8(lists.count))
        for names in lists {
            writer.write(UInt8(names.count))
            for name in names { writer.write(prefixed: name) }
        }
        return writer.bytes
    }

    /// - Returns: `nil` for content that no node would seal with this header.
    init?(_ content: [UInt8], _ header: ValueHeader) {
        let list = content.withUnsafeBytes { bytes -> VaryList? in
            var reader = ByteReader(bytes)
            guard let key = reader.readKey(), let count = reader.read(UInt8.self), count <= Self.mostLists else {
                return nil
            }
            var lists: [[String]] = []
            for _ in 0..<count {
                guard let nameCount = reader.read(UInt8.self), nameCount <= Self.mostNames else { return nil }
                var names: [String] = []
                for _ in 0..<nameCount {
                    guard let name = reader.readText(Self.longestName) else { return nil }
                    names.append(name)
                }
                lists.append(names)
            }
            guard reader.remaining == 0 else { return nil }
            return VaryList(key: key, lists: lists, respondedAt: header.respondedAt)
        }
        guard let list else { return nil }
        self = list
    }
}

extension ByteReader {
    /// Reads bytes that follow their length; returns `nil` if the length exceeds the limit.
    fileprivate mutating func readBounded(_ longest: Int) -> UnsafeRawBufferPointer? {
        readPrefixed().flatMap { $0.count <= longest ? $0 : nil }
    }

    /// Reads text that follows its length; returns `nil` if the length exceeds the limit or the
    /// text is not UTF-8.
    fileprivate mutating func readText(_ longest: Int) -> String? {
        readBounded(longest).flatMap { String(validating: $0, as: UTF8.self) }
    }

    fileprivate mutating func readKey() -> StoreKey? {
        readBounded(EnvelopeSealer.longestKey).flatMap { StoreKey(bytes: Array($0)) }
    }

    fileprivate mutating func readTags() -> [String]? {
        guard let count = read(UInt32.self), count <= ResponseDraft.maximumTagCount else { return nil }
        var tags: [String] = []
        for _ in 0..<count {
            guard let tag = readText(ResponseDraft.maximumTagLength) else { return nil }
            tags.append(tag)
        }
        return tags
    }

    fileprivate mutating func readBody(_ kind: ValueHeader.Kind) -> ResponseEnvelope.Body? {
        switch kind {
        case .response: return readBounded(ValueLimits.chunkLength).map { .inline(ByteBuffer(bytes: $0)) }
        case .chunkedResponse:
            guard let length = read(Int64.self).flatMap({ Int(exactly: $0) }), length > ValueLimits.chunkLength,
                // This limit prevents an overflow in the number of chunks.
                length <= Int.max / 2, let count = read(UInt32.self), ChunkedBody.count(length) == count,
                let id = read(UInt64.self), let digest = readBounded(ChunkedBody.digestLength),
                digest.count == ChunkedBody.digestLength
            else { return nil }
            return .chunks(ChunkedBody(id: BodyID(bits: id), length: length, digest: Array(digest)))
        case .varyList: return nil
        }
    }
}
