import HTTPCache
import HTTPCacheSemantics
import NIOCore

@testable import FleetTier

/// Values as an engine that is not trusted has them, and what is in them: a header, then content
/// that is not sealed. No value opens that no node sealed, and what is read is written again.
func envelope(_ input: UnsafeBufferPointer<UInt8>) {
    guard let bench = EnvelopeBench.shared else { return require(false, "there is no sealer") }
    let value = ByteBuffer(bytes: Array(input))
    require((try? bench.sealer.open(value, as: bench.names.envelope, for: bench.key)) == nil, "a value opens")
    for body in bench.bodies {
        var opener = ChunkOpener(keys: bench.keys, names: bench.names, body: body)
        require((try? opener.open(value)) == nil, "a chunk opens that no node sealed")
    }
    guard let header = ValueHeader(value) else { return }
    require(header.bytes == Array(input.prefix(ValueHeader.length)), "\(header) is written in another way")
    let content = Array(input.dropFirst(ValueHeader.length))
    switch header.kind {
    case .response, .chunkedResponse:
        if let envelope = ResponseEnvelope(content, header) { bench.check(envelope, header, content) }
    case .varyList:
        guard let list = VaryList(content, header) else { return }
        require(list.encoded == content, "\(list) is written in another way than it was read")
        var both = list
        both.add(list)
        require(both == list, "\(list) has something twice")
    }
}

private struct EnvelopeBench {
    let keys: FleetKeys
    let key: StoreKey
    let names: ValueNames
    let namer: ValueNamer
    let sealer: EnvelopeSealer

    static let shared: EnvelopeBench? = {
        guard let keys = FleetKeys(secret: [UInt8](repeating: 7, count: 32)), let namespace = FleetNamespace("fuzz"),
            let target = try? TargetURI("https://a.example/")
        else { return nil }
        let namer = ValueNamer(keys: keys, namespace: namespace)
        let key = StoreKey(target: target)
        return EnvelopeBench(
            keys: keys,
            key: key,
            names: namer.names(of: key),
            namer: namer,
            sealer: EnvelopeSealer(keys: keys, largestBody: .max)
        )
    }()

    /// Of one and of two chunks.
    var bodies: [ChunkedBody] {
        [100, ValueLimits.chunkLength + 1].map { ChunkedBody(id: BodyID(bits: 1), length: $0, digest: []) }
    }

    func check(_ envelope: ResponseEnvelope, _ header: ValueHeader, _ content: [UInt8]) {
        var random = CountingGenerator()
        let name = namer.names(of: envelope.key).envelope
        guard let sealed = try? sealer.seal(envelope, as: name, using: &random), let written = try? envelope.encoded()
        else { return require(false, "an envelope that was read cannot be sealed") }
        guard case .response(let opened) = try? sealer.open(sealed, as: name, for: envelope.key) else {
            return require(false, "an envelope that was sealed does not open")
        }
        require((try? opened.encoded()) == written, "an envelope is written in two ways")
        require(opened.fencingPosition == header.fencingPosition && opened.body == envelope.body, "an envelope changes")
        require(ValueHeader(sealed).map { $0.respondedAt } == header.respondedAt, "a time changes")
        // Changed, cut and lengthened: the content says where.
        let place = content.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % sealed.readableBytes
        var changed = sealed
        changed.setInteger((sealed.getInteger(at: place) ?? 0) ^ UInt8(1 << (place % 8)), at: place)
        var longer = sealed
        longer.writeInteger(0 as UInt8)
        for other in [changed, sealed.getSlice(at: 0, length: place) ?? ByteBuffer(), longer] {
            require((try? sealer.open(other, as: name, for: envelope.key)) == nil, "a changed envelope opens")
        }
        // On any clock.
        for offset in [0, Int64.min, Int64.max, Int64(place) << 24] {
            for now in [header.respondedAt.milliseconds, Int64.min, Int64.max, 0] {
                let now = Timestamp(milliseconds: now)
                let head = envelope.draft(at: now, EngineOffset(milliseconds: offset)).head
                require(head.responseTime <= now && head.requestTime <= head.responseTime, "an age is negative")
            }
        }
    }
}

/// Numbers that are the same in each run.
private struct CountingGenerator: RandomNumberGenerator {
    private var count: UInt64 = 0

    mutating func next() -> UInt64 {
        count += 1
        return count &* 0x9E37_79B9_7F4A_7C15
    }
}
