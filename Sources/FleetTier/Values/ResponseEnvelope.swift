package import HTTPCache
package import HTTPCacheSemantics
package import NIOCore

/// A response in the form that nodes share: a ``HTTPCache/ResponseDraft`` without its pin, and the
/// body or a reference to its chunks.
///
/// The instants are on the server's clock. ``draft(at:_:)`` converts them to a node's clock.
package struct ResponseEnvelope: Sendable {
    /// The body of a shared response.
    package enum Body: Sendable, Hashable {
        /// A body of at most ``ValueLimits/chunkLength`` bytes.
        case inline(ByteBuffer)
        /// A longer body.
        case chunks(ChunkedBody)
    }

    /// The position up to which the node had applied the log before it contacted the origin. Later
    /// purges affect this response.
    package let fencingPosition: LogPosition
    package let body: Body
    /// The response, with instants on the server's clock.
    let content: ResponseDraft
    /// When the response was received, on the clock of the node that sealed it. A server that
    /// reports a wrong time cannot make the response look younger.
    let receivedLocally: Timestamp

    /// - Parameters:
    ///   - draft: the response, with instants on the node's clock.
    ///   - fencingPosition: the position up to which the log was applied before the request was
    ///     sent.
    package init(_ draft: ResponseDraft, fencingPosition: LogPosition, body: Body, _ offset: EngineOffset) {
        var content = draft
        content.move { Timestamp(milliseconds: offset.engineTime($0).milliseconds) }
        self.init(
            content: content,
            receivedLocally: draft.head.responseTime,
            fencingPosition: fencingPosition,
            body: body
        )
    }

    /// - Parameter content: the response, with instants on the server's clock.
    init(content: ResponseDraft, receivedLocally: Timestamp, fencingPosition: LogPosition, body: Body) {
        self.receivedLocally = receivedLocally
        var content = content
        content.expectedLength = StatedLength(clamping: body.length)
        content.isPinned = false
        self.content = content
        self.fencingPosition = fencingPosition
        self.body = body
    }

    package var key: StoreKey { content.key }
    package var tags: [String] { content.tags }
    /// When the response was received or last freshened.
    package var respondedAt: EngineTime { EngineTime(milliseconds: content.head.responseTime.milliseconds) }

    /// Returns the response with instants on a node's clock, ready to be stored there.
    ///
    /// The offset is an estimate, and the server may report a wrong time. So the response's age is
    /// the greater of two ages: by the server's clock, and by the clocks of both nodes. The age is
    /// never negative. All instants shift by the same amount, so intervals do not change.
    package func draft(at now: Timestamp, _ offset: EngineOffset) -> ResponseDraft {
        let latest = min(now, receivedLocally)
        let ahead = max(0, offset.timestamp(respondedAt).milliseconds(since: latest))
        var draft = content
        draft.move {
            let moved = offset.timestamp(EngineTime(milliseconds: $0.milliseconds))
            return moved == .distantFuture || moved == .distantPast ? moved : moved.adding(milliseconds: -ahead)
        }
        draft.head.responseTime = min(draft.head.responseTime, now)
        draft.head.requestTime = min(draft.head.requestTime, draft.head.responseTime)
        draft.storedAt = min(draft.storedAt, now)
        return draft
    }
}

extension ResponseEnvelope.Body {
    /// The length of the body, in bytes.
    package var length: Int {
        switch self {
        case .inline(let bytes): bytes.readableBytes
        case .chunks(let body): body.length
        }
    }
}

extension ResponseDraft {
    fileprivate mutating func move(_ translate: (Timestamp) -> Timestamp) {
        head.requestTime = translate(head.requestTime)
        head.responseTime = translate(head.responseTime)
        head.explicitExpiry = head.explicitExpiry.map(translate)
        freshUntil = translate(freshUntil)
        storedAt = translate(storedAt)
    }
}

/// A body in chunks of ``ValueLimits/chunkLength`` bytes each. The last chunk may be shorter.
package struct ChunkedBody: Sendable, Hashable {
    package var id: BodyID
    /// The length of the body, in bytes.
    package var length: Int
    /// The digest of the sealed chunks. Only these chunks match this body: see ``ChunkSealer``.
    package var digest: [UInt8]

    package init(id: BodyID, length: Int, digest: [UInt8]) {
        self.id = id
        self.length = length
        self.digest = digest
    }

    /// The number of chunks.
    package var count: Int { Self.count(length) }

    /// Returns the number of chunks of a body of a given length.
    package static func count(_ length: Int) -> Int { (length + ValueLimits.chunkLength - 1) / ValueLimits.chunkLength }

    /// Returns the number of body bytes in a chunk.
    func length(of index: Int) -> Int {
        min(ValueLimits.chunkLength, length - index * ValueLimits.chunkLength)
    }
}
