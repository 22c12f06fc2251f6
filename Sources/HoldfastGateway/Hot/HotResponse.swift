import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// An answer from memory as bytes, kept for the next request of the same bytes.
///
/// Nothing is decided here: the cache says whether it still holds, and how old it is; that and what
/// follows from it is all that is written anew.
final class HotResponse {
    /// The request's head, every byte of it: what is equal in all of them is decoded, keyed and
    /// selected in the same way.
    let request: ByteBuffer
    let hash: Int
    private let conditions: ResidentHit.Conditions
    private let status: Int
    private let method: HTTPRequest.Method
    private let template: HeadTemplate
    private let content: ByteBuffer
    private let isContentInline: Bool
    /// The head (and a short content) as it is written at these ages in milliseconds.
    private var bytes: ByteBuffer
    private var ages: Range<Int64>

    /// Content up to this many bytes is written with the head, in one piece. 16 KiB: copied at most
    /// twice in a second.
    static let inlineLimit = 16 << 10

    /// - Parameters:
    ///   - head: the answer's, as it was written for `hit`.
    /// - Returns: `nil` where the answer cannot be made for another time.
    init?(request: ByteBuffer, hash: Int, head: ByteBuffer, hit: ResidentHit, method: HTTPRequest.Method) {
        let age = hit.response.age
        guard let conditions = hit.conditions,
            let template = HeadTemplate(head, age: age / 1000, timeToLive: (conditions.lifetime - age) / 1000)
        else { return nil }
        // What it is a part of is the connection's, and much larger.
        self.request = ByteBuffer(bytes: request.readableBytesView)
        self.hash = hash
        self.conditions = conditions
        self.template = template
        self.method = method
        status = hit.response.head.status.code
        content = hit.content
        isContentInline = content.readableBytes <= Self.inlineLimit
        bytes = ByteBuffer()
        ages = 0..<0
    }

    /// About what it takes in memory, what it keeps of the store's memory included.
    var cost: Int {
        512 + request.readableBytes + template.count * 2 + content.readableBytes * (isContentInline ? 2 : 1)
    }

    /// The head and what follows it, or a part of that: then the rest is ``rest``.
    ///
    /// - Returns: `nil` where it does not hold any more.
    func bytes(at now: Timestamp, _ engine: CacheEngine) -> ByteBuffer? {
        guard let age = engine.hitAgain(conditions, status: status, method: method, at: now) else { return nil }
        if !ages.contains(age) { write(age) }
        return bytes
    }

    /// What is written after ``bytes(at:_:)``; `nil` where nothing is.
    var rest: ByteBuffer? { isContentInline ? nil : content }

    private func write(_ age: Int64) {
        let (seconds, rest) = (age / 1000, conditions.lifetime - age)
        bytes = template.bytes(
            age: seconds,
            timeToLive: rest / 1000,
            room: isContentInline ? content.readableBytes : 0
        )
        if isContentInline { bytes.writeImmutableBuffer(content) }
        // Both numbers stay the same from and to these ages.
        ages =
            max(
                seconds * 1000,
                conditions.lifetime - (rest / 1000 * 1000 + 999)
            )..<min(
                (seconds + 1) * 1000,
                conditions.lifetime - rest / 1000 * 1000 + 1
            )
    }
}
