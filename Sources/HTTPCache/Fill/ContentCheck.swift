import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A caller's look at the whole content of a success before it is stored: an envelope that says it failed, JSON of another shape, a captive portal's page.
///
/// Where it throws, nothing is stored and what was stored stays; where content is longer than it may be, likewise. The caller has the response all the same, octet by octet as it
/// arrives: only the end of the body waits for the check, as it waits for the store. A caller that joined another's fetch finds stored what *that* one's check let pass, so whoever
/// has a check looks at what it reads as well. A part (206) is stored only where it completes what is stored, because no part can be judged. A 304 confirms what passed once, so nothing is
/// looked at again.
///
/// ```swift
/// var request = CacheRequest(head: head)
/// request.contentCheck = ContentCheck(maximumBytes: 1 << 20) { _, content in
///     _ = try JSONDecoder().decode(Feed.self, from: content)
/// }
/// ```
public struct ContentCheck: Sendable {
    /// Octets that are held for the check at most; longer content is not stored.
    public var maximumBytes: Int
    /// Looks at a response as it would be stored, and at its whole content as it came: content coding included. Throws where it is not to be stored.
    ///
    /// It runs in the fetch, which belongs to no caller: its errors go nowhere (their type is logged), and it should end when its task is cancelled.
    public var check: @Sendable (HTTPResponse, ByteBuffer) async throws -> Void

    /// A check.
    public init(
        maximumBytes: Int,
        check: @escaping @Sendable (_ response: HTTPResponse, _ content: ByteBuffer) async throws -> Void
    ) {
        self.maximumBytes = maximumBytes
        self.check = check
    }

    /// Whether what is known of a body before it comes lets it be looked at.
    func allows(_ draft: ResponseDraft) -> Bool {
        draft.head.status != .partialContent && draft.expectedLength ?? 0 <= Int64(maximumBytes)
    }
}
