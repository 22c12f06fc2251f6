import Crypto
package import NIOCore

/// A sealed chunk with its name.
package struct SealedChunk: Sendable, Hashable {
    package var name: ValueName
    package var bytes: ByteBuffer

    package init(name: ValueName, bytes: ByteBuffer) {
        self.name = name
        self.bytes = bytes
    }
}

/// Seals the chunks of one body, in order.
///
/// ```
/// 1 version   1 key id   12 nonce   content   16 tag
/// ```
/// The chunk's name (which contains the body's ID and the index) and the number of chunks are
/// authenticated with the content, so chunks cannot be swapped, dropped or repeated.
///
/// ```swift
/// var sealer = ChunkSealer(keys: keys, names: names, id: id, length: length)
/// while let part = try await next(ValueLimits.chunkLength) {
///     chunks.append(try sealer.seal(part, using: &generator))
/// }
/// let body = try sealer.finish()
/// ```
package struct ChunkSealer: Sendable {
    /// The number of bytes that sealing adds to a chunk.
    package static let overhead = 2 + SealingKeys.overhead

    private let keys: SealingKeys
    private var order: ChunkOrder

    /// - Parameters:
    ///   - id: a random ID that is unique to this body.
    ///   - length: the body's length in bytes; more than ``ValueLimits/chunkLength``.
    package init(keys: FleetKeys, names: ValueNames, id: BodyID, length: Int) {
        self.keys = keys.sealing(\.responses)
        order = ChunkOrder(names: names, id: id, length: length)
    }

    /// The length of the next chunk, in bytes; `nil` after the last chunk.
    package var nextLength: Int? { order.nextLength }

    /// Seals the next chunk.
    ///
    /// - Parameters:
    ///   - chunk: a chunk of ``nextLength`` bytes.
    ///   - generator: must be cryptographically secure.
    /// - Throws: ``FleetLogError/limit(_:)`` if the chunk has a different length.
    package mutating func seal(
        _ chunk: ByteBuffer,
        using generator: inout some RandomNumberGenerator
    ) throws(FleetLogError) -> SealedChunk {
        guard chunk.readableBytes == nextLength else { throw .limit("chunk") }
        let header = [ChunkOrder.version, keys.present.id]
        let authenticated = order.authenticated(header)
        let box = try chunk.withUnsafeReadableBytes {
            keys.seal($0, authenticating: authenticated, using: &generator)
        }
        .get()
        let name = order.nextName
        order.advance(tag: box.tag)
        return SealedChunk(name: name, bytes: ByteBuffer(header, box))
    }

    /// Returns the body, once all of its chunks are sealed.
    ///
    /// - Throws: ``FleetLogError/limit(_:)`` if chunks are missing.
    package func finish() throws(FleetLogError) -> ChunkedBody {
        guard nextLength == nil else { throw .limit("chunks") }
        return ChunkedBody(id: order.id, length: order.length, digest: order.digest)
    }
}

/// Opens the chunks of one body, in order.
///
/// Do not use any part of the body before ``finish()`` returns: a body is either complete or
/// invalid.
package struct ChunkOpener: Sendable {
    private let keys: SealingKeys
    private let body: ChunkedBody
    private var order: ChunkOrder

    /// - Parameter body: the body as its envelope describes it.
    package init(keys: FleetKeys, names: ValueNames, body: ChunkedBody) {
        self.keys = keys.sealing(\.responses)
        self.body = body
        order = ChunkOrder(names: names, id: body.id, length: body.length)
    }

    /// The names of the next chunks, at most ``ValueLimits/mostChunks`` names; empty after the last
    /// chunk.
    package var nextNames: [ValueName] { order.nextNames }

    /// Opens the next chunk.
    package mutating func open(_ sealed: ByteBuffer) throws(SealFault) -> ByteBuffer {
        guard let expected = order.nextLength else { throw .forged }
        guard sealed.readableBytes > ChunkSealer.overhead, sealed.readableBytes <= ValueLimits.longestChunk,
            let header = sealed.getBytes(at: sealed.readerIndex, length: 2), header[0] == ChunkOrder.version
        else { throw .malformed }
        let authenticated = order.authenticated(header)
        let content = try sealed.withUnsafeReadableBytes {
            keys.open(UnsafeRawBufferPointer(rebasing: $0[2...]), keyID: header[1], authenticating: authenticated)
        }
        .get()
        // No node seals a chunk of a different length under this name.
        guard content.count == expected else { throw .forged }
        let tag = sealed.readableBytesView.suffix(SealingKeys.tagLength)
        order.advance(tag: Array(tag))
        return ByteBuffer(bytes: content)
    }

    /// Compares all chunks with the body's digest.
    ///
    /// - Throws: ``SealFault/forged`` if the digest differs or a chunk was not opened.
    package func finish() throws(SealFault) {
        guard order.nextLength == nil, order.digest == body.digest else { throw .forged }
    }
}

extension ChunkedBody {
    /// The length of the digest, in bytes.
    package static let digestLength = SHA256.byteCount
}

/// The position in a body, and the digest of the chunk tags up to that position.
private struct ChunkOrder: Sendable {
    static let version: UInt8 = 1

    let names: ValueNames
    let id: BodyID
    let length: Int
    private var index = 0
    private var hash = SHA256()

    init(names: ValueNames, id: BodyID, length: Int) {
        self.names = names
        self.id = id
        self.length = length
    }

    private var body: ChunkedBody { ChunkedBody(id: id, length: length, digest: []) }
    var nextLength: Int? { index < body.count ? body.length(of: index) : nil }
    var nextName: ValueName { names.chunk(index, of: id) }
    var nextNames: [ValueName] {
        (index..<min(body.count, index + ValueLimits.mostChunks)).map { names.chunk($0, of: id) }
    }
    var digest: [UInt8] { Array(hash.finalize()) }

    func authenticated(_ header: [UInt8]) -> [UInt8] {
        Array("holdfast chunk\0\(nextName)\0\(body.count)\0".utf8) + header
    }

    mutating func advance(tag: [UInt8]) {
        hash.update(data: tag)
        index += 1
    }
}
