import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A caller's check of a success's whole content before it is stored. It can reject an envelope
/// that reports a failure, JSON with another shape, or a captive portal's page.
///
/// If the check throws, nothing is stored, and the stored response stays. The same applies to
/// content longer than ``maximumBytes``. The caller still gets the response, byte by byte as it
/// arrives: only the end of the body waits for the check, as it waits for the store.
///
/// Callers that share a fetch bring their own checks. A response that would replace a stored one
/// must pass all of them, whether it is a success or a redirection. A part (206) is stored only if
/// it completes a stored response, because a part cannot be checked. A 304 confirms content that
/// already passed, so no check runs again.
///
/// ```swift
/// var request = CacheRequest(head: head)
/// request.contentCheck = ContentCheck(maximumBytes: 1 << 20) { _, content in
///     _ = try JSONDecoder().decode(Feed.self, from: content)
/// }
/// ```
public struct ContentCheck: Sendable {
    /// The most bytes to hold for the check; longer content is not stored.
    public var maximumBytes: Int
    /// Whether to check only a response that would replace a stored one. `false` checks all
    /// successes.
    ///
    /// If `true`, parts are stored unchecked, because a part never replaces a complete response.
    public var isForReplacements = false
    /// Checks a response as it would be stored, and its whole content as received, including the
    /// content coding. It throws if the response must not be stored.
    ///
    /// It runs in the fetch, which belongs to no caller. Its errors reach no caller (their type is
    /// logged), and it should end when its task is cancelled.
    public var check: @Sendable (HTTPResponse, ByteBuffer) async throws -> Void
    /// Checks of the same kind accept the same content, so one of them is enough. `nil`: the check
    /// is the only one of its kind.
    package var kind: ContentCheckKind?

    /// Creates a check.
    public init(
        maximumBytes: Int,
        check: @escaping @Sendable (_ response: HTTPResponse, _ content: ByteBuffer) async throws -> Void
    ) {
        self.maximumBytes = maximumBytes
        self.check = check
    }

    /// Whether the facts known before a body arrives allow storing it.
    func allows(_ draft: ResponseDraft) -> Bool {
        if draft.head.status == .partialContent { return isForReplacements }
        return draft.expectedLength?.isWithin(Int64(maximumBytes)) ?? true
    }

    /// Whether a response with this head is checked.
    ///
    /// - Parameter isReplacing: whether it would replace a stored response.
    func isDue(for head: StoredResponseHead, isReplacing: Bool) -> Bool {
        if head.status == .partialContent { return false }
        return isReplacing || (!isForReplacements && head.status.kind == .successful)
    }

    /// Whether another check makes this one unnecessary.
    func isCovered(by others: [ContentCheck]) -> Bool {
        guard let kind else { return false }
        return others.contains { $0.kind == kind }
    }
}

/// The kind of a check: the type that the content is read as, and how it is read.
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
