import HTTPCacheSemantics
public import HTTPTypes

/// Changes to an origin's responses before the cache judges them, as if the origin had sent them
/// so. They apply only to requests without credentials, and to those of a recorded job.
///
/// A field that no client gets cannot be replayed to another client, so `Set-Cookie` among the
/// removed fields no longer keeps a response out of a shared cache.
public struct OriginFieldEdits: Sendable, Hashable {
    /// Fields that are removed. They are neither stored nor sent to any client.
    public var removed: Set<HTTPField.Name>
    /// Request fields that select one of several responses. They are added to `Vary`.
    public var vary: [HTTPField.Name]

    /// Creates edits; none by default.
    public init(removed: Set<HTTPField.Name> = [], vary: [HTTPField.Name] = []) {
        self.removed = removed
        self.vary = vary
    }

    /// Whether there are no edits.
    public var isEmpty: Bool { removed.isEmpty && vary.isEmpty }

    func apply(to response: inout TransportResponse) {
        remove(from: &response.head)
        if !vary.isEmpty { response.head.headerFields.addToVary(vary) }
        let removed = removed
        if !removed.isEmpty { response.body = response.body.droppingTrailers { removed.contains($0) } }
    }

    /// Removes the fields from an interim or final response.
    func remove(from response: inout HTTPResponse) {
        if !removed.isEmpty { response.headerFields.removeAll { removed.contains($0.name) } }
    }
}
