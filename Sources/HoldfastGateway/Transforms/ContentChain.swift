import NIOCore

/// Transforms the content of one response, piece by piece.
protocol ContentStage {
    /// Whether the output may be much longer than the input.
    static var expands: Bool { get }

    /// Reads from a piece, and returns bytes to send; possibly none. The chain passes the rest of
    /// the piece again, so a stage can limit its output.
    mutating func take(_ piece: inout ByteBuffer) throws -> ByteBuffer

    /// Returns the bytes that the stage still holds and that can be sent before more content
    /// arrives.
    mutating func flush() throws -> ByteBuffer

    /// Returns the last bytes.
    mutating func end() throws -> ByteBuffer
}

extension ContentStage {
    static var expands: Bool { false }

    mutating func flush() throws -> ByteBuffer { ByteBuffer() }
}

/// The stages that one response's content passes through, in order.
///
/// Content is pulled through the stages in pieces, so that a response needs the same memory however
/// long its content is.
struct ContentChain {
    private struct Link {
        var stage: any ContentStage
        /// The bytes that the stage has not read.
        var waiting = ByteBuffer()

        mutating func take() throws -> ByteBuffer { try stage.take(&waiting) }
    }

    /// The maximum length of content that is transformed before its head is written, so that its
    /// length is known: 64 KiB
    static let wholeLimit = 64 << 10
    /// The same limit for a stored response in memory, which may be kept in its new form: 256 KiB
    static let hitLimit = 256 << 10
    /// The size of the pieces in which content is transformed, so that other requests get their
    /// turn: 8 KiB
    static let pieceLimit = 8 << 10

    private var links: [Link]
    private var input = ByteBuffer()

    /// - Parameter stages: at least one.
    init(_ stages: [any ContentStage]) { links = stages.map { Link(stage: $0) } }

    /// Whether content is transformed before its head is written.
    ///
    /// - Parameter isHit: whether the content is a stored response in memory, which may be kept.
    func sendsWhole(_ length: Int, isHit: Bool) -> Bool {
        !links.contains { type(of: $0.stage).expands } && length <= (isHit ? Self.hitLimit : Self.wholeLimit)
    }

    /// Adds content. Call ``next()`` until it returns `nil` before adding more.
    mutating func add(_ content: ByteBuffer) { input = content }

    /// Transforms the next piece.
    ///
    /// - Returns: the bytes to send, possibly none; `nil` if all content is transformed.
    mutating func next() throws -> ByteBuffer? { try next(after: links.count) }

    /// Returns the next bytes that leave the first stages.
    private mutating func next(after count: Int) throws -> ByteBuffer? {
        guard count > 0 else {
            let length = min(input.readableBytes, Self.pieceLimit)
            return length > 0 ? input.readSlice(length: length) : nil
        }
        if links[count - 1].waiting.readableBytes == 0 {
            guard let piece = try next(after: count - 1) else { return nil }
            // The stage before this one holds the bytes. Its caller decides when to continue.
            guard piece.readableBytes > 0 else { return piece }
            links[count - 1].waiting = piece
        }
        return try links[count - 1].take()
    }

    /// Returns the bytes that can be sent before more content arrives. The last stage is the only
    /// one that holds any for long.
    mutating func flush() throws -> ByteBuffer { try links[links.count - 1].stage.flush() }

    /// Returns the last bytes.
    mutating func end() throws -> ByteBuffer {
        var rest = ByteBuffer()
        for index in links.indices {
            links[index].waiting = rest
            var bytes = ByteBuffer()
            while links[index].waiting.readableBytes > 0 { bytes.writeImmutableBuffer(try links[index].take()) }
            bytes.writeImmutableBuffer(try links[index].stage.end())
            rest = bytes
        }
        return rest
    }

    /// Transforms complete content.
    mutating func transform(_ whole: ByteBuffer) throws -> ByteBuffer {
        add(whole)
        var result = ByteBuffer()
        while let bytes = try next() { result.writeImmutableBuffer(bytes) }
        result.writeImmutableBuffer(try end())
        return result
    }
}
