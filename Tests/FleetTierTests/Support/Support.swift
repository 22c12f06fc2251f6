import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import FleetTier

/// Leads from the host `gw.example` to the origin `a.example`, as the routes of one node do.
struct GatewayPlaces: OriginURLFinding {
    func originURLs(of url: TargetURI) -> [OriginURL] {
        guard url.host == "gw.example", let place = try? TargetURI("https://a.example\(url.requestTarget)") else {
            return []
        }
        return [OriginURL(place)]
    }

    func originPrefixes(of prefix: TargetURI) -> [OriginURL] { originURLs(of: prefix) }
}

/// A fleet's keys, and a response to share.
struct ResponseBench {
    static let secret = [UInt8](repeating: 7, count: 32)
    static let otherSecret = [UInt8](repeating: 8, count: 40)
    static let now = Timestamp(milliseconds: 1_767_225_600_000)

    let keys: FleetKeys
    let key: StoreKey
    let names: ValueNames
    let sealer: EnvelopeSealer

    init(
        _ secret: [UInt8] = secret,
        previous: [UInt8]? = nil,
        path: String = "/a/secret-path",
        namespace: String = "shop"
    ) throws {
        keys = try #require(FleetKeys(secret: secret, previous: previous))
        key = try Self.key(path)
        names = ValueNamer(keys: keys, namespace: try #require(FleetNamespace(namespace))).names(of: key)
        sealer = EnvelopeSealer(keys: keys)
    }

    static func key(_ path: String) throws -> StoreKey {
        StoreKey(target: try TargetURI("https://origin.example\(path)?page=private-page"))
    }

    func draft(tags: [String] = ["secret-tag", "news"], _ change: (inout StoredResponseHead) -> Void = { _ in })
        -> ResponseDraft
    {
        var head = StoredResponseHead(
            requestMethod: .get,
            selectingFields: [.acceptEncoding: "gzip"],
            status: .init(code: 200, reasonPhrase: "Fine"),
            fields: [.contentType: "text/x-secret-type", .vary: "accept-encoding", .cacheControl: "max-age=60"],
            requestTime: Self.now.adding(milliseconds: -250),
            responseTime: Self.now,
            explicitExpiry: Self.now.adding(milliseconds: 99_000)
        )
        change(&head)
        return ResponseDraft(
            key: key,
            head: head,
            freshUntil: Self.now.adding(milliseconds: 60_000),
            isUsableStale: true,
            expectedLength: 1,
            storedAt: Self.now.adding(milliseconds: 3),
            tags: tags,
            isPinned: true
        )
    }

    let fencingPosition = LogPosition(epoch: 0x0102_0304_0506_0708, number: 77)
    let body = ByteBuffer(string: "a-secret-body")

    func envelope(
        _ body: ResponseEnvelope.Body? = nil,
        tags: [String] = ["secret-tag", "news"],
        offset: Int64 = 0,
        _ change: (inout StoredResponseHead) -> Void = { _ in }
    ) -> ResponseEnvelope {
        ResponseEnvelope(
            draft(tags: tags, change),
            fencingPosition: fencingPosition,
            body: body ?? .inline(self.body),
            EngineOffset(milliseconds: offset)
        )
    }

    func sealed(_ envelope: ResponseEnvelope? = nil, seed: UInt64 = 1) throws -> ByteBuffer {
        var random = SeededRandom(seed: seed)
        return try sealer.seal(envelope ?? self.envelope(), as: names.envelope, using: &random)
    }

    func opened(_ bytes: ByteBuffer, as name: ValueName? = nil, for key: StoreKey? = nil) throws -> ResponseEnvelope {
        guard case .response(let envelope) = try sealer.open(bytes, as: name ?? names.envelope, for: key ?? self.key)
        else { throw SealFault.malformed }
        return envelope
    }

    func fault(_ bytes: ByteBuffer, as name: ValueName? = nil, for key: StoreKey? = nil) -> SealFault? {
        do throws(SealFault) {
            _ = try sealer.open(bytes, as: name ?? names.envelope, for: key ?? self.key)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Chunks

    /// Bytes that differ from chunk to chunk.
    static func bytes(_ length: Int) -> ByteBuffer {
        ByteBuffer(bytes: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 65_536) })
    }

    func chunks(_ body: ByteBuffer, id: UInt64 = 5) throws -> ([SealedChunk], ChunkedBody) {
        var (random, body) = (SeededRandom(seed: id), body)
        var sealer = ChunkSealer(keys: keys, names: names, id: BodyID(bits: id), length: body.readableBytes)
        var chunks: [SealedChunk] = []
        while let length = sealer.nextLength {
            let slice = body.readSlice(length: length)
            let chunk = try #require(slice)
            chunks.append(try sealer.seal(chunk, using: &random))
        }
        return (chunks, try sealer.finish())
    }

    /// The body, or the first fault.
    func body(_ chunks: [ByteBuffer], _ body: ChunkedBody) throws(SealFault) -> ByteBuffer {
        var opener = ChunkOpener(keys: keys, names: names, body: body)
        var whole = ByteBuffer()
        for chunk in chunks { whole.writeImmutableBuffer(try opener.open(chunk)) }
        try opener.finish()
        return whole
    }

    func chunkFault(_ chunks: [ByteBuffer], _ body: ChunkedBody) -> SealFault? {
        do throws(SealFault) {
            _ = try self.body(chunks, body)
            return nil
        } catch {
            return error
        }
    }
}

extension ByteBuffer {
    /// These bytes with one changed.
    func flipped(_ index: Int, _ bit: UInt8 = 1) -> ByteBuffer {
        var bytes = Array(readableBytesView)
        bytes[index] ^= bit
        return ByteBuffer(bytes: bytes)
    }
}
