import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A caller's look at the whole content of a success before it is stored: an envelope that says it
/// failed, JSON of another shape, a captive portal's page.
///
/// Where it throws, nothing is stored, and what was stored stays. The same holds for content that
/// is longer than ``maximumBytes``. The caller gets the response all the same, byte by byte as it
/// arrives: only the end of the body waits for the check, as it waits for the store.
///
/// Callers that share a fetch bring their checks with them. What would take the place of something
/// stored has to pass all of them, be it a success or a redirection. A part (206) is stored only
/// where it completes what is stored, because no part can be judged. A 304 confirms what passed
/// once, so nothing is looked at again.
///
/// ```swift
/// var request = CacheRequest(head: head)
/// request.contentCheck = ContentCheck(maximumBytes: 1 << 20) { _, content in
///     _ = try JSONDecoder().decode(Feed.self, from: content)
/// }
/// ```
public struct ContentCheck: Sendable {
    /// Bytes that are held for the check at most; longer content is not stored.
    public var maximumBytes: Int
    /// Whether only what would take the place of something stored is looked at. `false`: all
    /// successes are.
    ///
    /// Parts are stored unseen then: a part never takes the place of a whole.
    public var isForReplacements = false
    /// Looks at a response as it would be stored, and at its whole content as it came: content
    /// coding included. Throws where it is not to be stored.
    ///
    /// It runs in the fetch, which belongs to no caller: its errors go nowhere (their type is
    /// logged), and it should end when its task is cancelled.
    public var check: @Sendable (HTTPResponse, ByteBuffer) async throws -> Void
    /// Checks of one kind let the same content pass, so one of them is enough. `nil`: it is the
    /// only one of its kind.
    package var kind: ContentCheckKind?

    /// A check.
    public init(
        maximumBytes: Int,
        check: @escaping @Sendable (_ response: HTTPResponse, _ content: ByteBuffer) async throws -> Void
    ) {
        self.maximumBytes = maximumBytes
        self.check = check
    }

    /// Whether what is known of a body before it comes lets it be stored.
    func allows(_ draft: ResponseDraft) -> Bool {
        if draft.head.status == .partialContent { return isForReplacements }
        return draft.expectedLength ?? 0 <= Int64(maximumBytes)
    }

    /// Whether a response with this head is looked at.
    ///
    /// - Parameter isReplacing: it would take the place of something stored.
    func isDue(for head: StoredResponseHead, isReplacing: Bool) -> Bool {
        if head.status == .partialContent { return false }
        return isReplacing || (!isForReplacements && head.status.kind == .successful)
    }

    /// Whether a check that is there already makes this one needless.
    func isCovered(by others: [ContentCheck]) -> Bool {
        guard let kind else { return false }
        return others.contains { $0.kind == kind }
    }
}

/// What tells checks of different kinds apart: the type that content is read as, and the way in
/// which it is read.
///
/// Both outlive the check.
package struct ContentCheckKind: Sendable, Hashable {
    private let type: ObjectIdentifier
    private let way: ObjectIdentifier

    package init(_ type: Any.Type, way: some AnyObject & Sendable) {
        self.type = ObjectIdentifier(type)
        self.way = ObjectIdentifier(way)
    }
}
