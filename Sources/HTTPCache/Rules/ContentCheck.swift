import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A caller's check of the complete content of a success before it is stored. For example, it can
/// reject an envelope that reports a failure, JSON with an unexpected structure, or a captive
/// portal's page.
///
/// If the check throws, or if the content is longer than ``maximumBytes``, the response is not
/// stored, and the stored response stays. The caller still gets the response as it arrives: only
/// the end of the body waits for the check, as it waits for the store.
///
/// Each of the callers that share a fetch may have its own check. A response that would replace a
/// stored response must pass all of them, whether it is a success or a redirection. A part (206) is
/// stored only if it completes a stored response, because a part cannot be checked (see
/// ``isForReplacements`` for an exception). A 304 confirms content that already passed, so no check
/// runs again.
///
/// ```swift
/// var request = CacheRequest(head: head)
/// request.contentCheck = ContentCheck(maximumBytes: 1 << 20) { _, content in
///     _ = try JSONDecoder().decode(Feed.self, from: content)
/// }
/// ```
public struct ContentCheck: Sendable {
    /// The maximum length of the content, in bytes. Longer content is not stored, because it is not
    /// kept in memory for the check.
    public var maximumBytes: Int
    /// Whether to check only a response that would replace a stored response. `false` checks all
    /// successes.
    ///
    /// If `true`, parts are stored unchecked, because a part never replaces a complete response.
    public var isForReplacements = false
    /// Checks a response as it would be stored, and its complete content as received, with its
    /// content coding still applied. Throws if the response must not be stored.
    ///
    /// The check runs in the fetch, which belongs to no caller. Its errors do not reach callers;
    /// only their type is logged. It should end when its task is canceled.
    public var check: @Sendable (HTTPResponse, ByteBuffer) async throws -> Void
    /// The kind of the check. Checks of the same kind accept the same content, so one of them is
    /// enough. `nil` if no other check is of the same kind.
    package var kind: ContentCheckKind?

    /// Creates a check.
    public init(
        maximumBytes: Int,
        check: @escaping @Sendable (_ response: HTTPResponse, _ content: ByteBuffer) async throws -> Void
    ) {
        self.maximumBytes = maximumBytes
        self.check = check
    }

    /// Returns whether the facts known before a body arrives allow it to be stored.
    func allows(_ draft: ResponseDraft) -> Bool {
        if draft.head.status == .partialContent { return isForReplacements }
        return draft.expectedLength?.isWithin(Int64(maximumBytes)) ?? true
    }

    /// Returns whether a response with this head must be checked.
    ///
    /// - Parameter isReplacing: whether the response would replace a stored response.
    func isDue(for head: StoredResponseHead, isReplacing: Bool) -> Bool {
        if head.status == .partialContent { return false }
        return isReplacing || (!isForReplacements && head.status.kind == .successful)
    }

    /// Returns whether one of the other checks makes this check unnecessary.
    func isCovered(by others: [ContentCheck]) -> Bool {
        guard let kind else { return false }
        return others.contains { $0.kind == kind }
    }
}

/// The kind of a check: the type that the content is decoded to, and the way it is decoded.
///
/// The type and the object that identifies the way must outlive the check.
package struct ContentCheckKind: Sendable, Hashable {
    private let type: ObjectIdentifier
    private let way: ObjectIdentifier

    package init(_ type: Any.Type, way: some AnyObject & Sendable) {
        self.type = ObjectIdentifier(type)
        self.way = ObjectIdentifier(way)
    }
}
