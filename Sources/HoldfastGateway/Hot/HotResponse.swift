import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// A response from memory in the form in which it is written, kept for the next request with the
/// same key.
///
/// The cache decides whether the response is still valid and how old it is. Only the numbers that
/// depend on the age are rewritten.
final class HotResponse {
    /// How the head is written in the client's protocol.
    enum Form {
        case http1(HeadTemplate)
        /// Fields that are timed: ``HTTP2FieldList/isTimed``.
        case http2(HTTP2FieldList)
    }

    /// See ``HotKey``.
    let request: ByteBuffer
    let hash: Int
    /// The response's requests, for metrics, the log and the forecast.
    let recorded: RecordedHit
    /// The checks of each request, if its route has its own.
    let routeChecks: RouteChecks?
    private let conditions: ImmediateHit.Conditions
    private let form: Form
    let content: ByteBuffer
    private let isContentInline: Bool
    /// The head in HTTP/1, followed by the content unless ``rest`` contains it.
    private(set) var bytes = ByteBuffer()
    /// The head in HTTP/2; `nil` in HTTP/1.
    private(set) var fields: HTTP2Fields?
    /// The ages, in milliseconds, for which the head is written.
    private var ages: Range<Int64> = 0..<0

    /// The maximum length of content that is written together with the head: 16 KiB. It is copied
    /// at most twice a second.
    static let inlineLimit = 16 << 10

    init(
        _ request: ByteBuffer,
        hash: Int,
        _ conditions: ImmediateHit.Conditions,
        _ form: Form,
        _ content: ByteBuffer,
        _ recorded: RecordedHit,
        _ routeChecks: RouteChecks?
    ) {
        self.request = request
        self.hash = hash
        self.conditions = conditions
        self.form = form
        self.content = content
        self.recorded = recorded
        self.routeChecks = routeChecks
        isContentInline = if case .http1 = form { content.readableBytes <= Self.inlineLimit } else { false }
    }

    /// The approximate size in memory, in bytes, including the store's memory that it keeps alive,
    /// and ``recorded``.
    var cost: Int {
        1536 + request.readableBytes * 5 + headLength * 2 + content.readableBytes * (isContentInline ? 2 : 1)
    }

    private var headLength: Int {
        switch form {
        case .http1(let template): template.count
        case .http2(let list): list.cost
        }
    }

    /// Writes the head for the given time, unless it is already written.
    ///
    /// - Returns: `false` if the response is no longer valid.
    func prepare(at now: Timestamp, _ engine: CacheEngine) -> Bool {
        guard let age = engine.revalidateHit(conditions, at: now) else { return false }
        if !ages.contains(age) { write(age) }
        return true
    }

    /// The number of bytes of content.
    var contentLength: Int { content.readableBytes }

    /// The bytes to write after ``bytes``; `nil` if there are none.
    var rest: ByteBuffer? { isContentInline ? nil : content }

    private func write(_ age: Int64) {
        let (seconds, rest) = (age / 1000, conditions.lifetime - age)
        recorded.begin(age: seconds, timeToLive: rest / 1000)
        switch form {
        case .http1(let template):
            bytes = template.bytes(
                age: seconds,
                timeToLive: rest / 1000,
                room: isContentInline ? content.readableBytes : 0
            )
            if isContentInline { bytes.writeImmutableBuffer(content) }
        case .http2(let list):
            fields = list.at(age: seconds, timeToLive: rest / 1000).map { HTTP2Fields($0) }
        }
        // Both numbers stay the same for these ages.
        let lastRest = rest / 1000 * 1000
        let first = max(seconds * 1000, conditions.lifetime - (lastRest + 999))
        ages = first..<min((seconds + 1) * 1000, conditions.lifetime - lastRest + 1)
    }
}
