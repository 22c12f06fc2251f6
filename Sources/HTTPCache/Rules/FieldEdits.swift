public import HTTPTypes

/// Fields to remove and to set, in this order.
public struct FieldEdits: Sendable, Hashable {
    /// The names of fields to remove.
    public var removed: Set<HTTPField.Name>
    /// Fields that replace all fields of the same name. Their values may be secrets, and never
    /// appear in a message.
    public var set: HTTPFields

    /// Creates edits; none by default.
    public init(removed: Set<HTTPField.Name> = [], set: HTTPFields = [:]) {
        self.removed = removed
        self.set = set
    }

    /// Whether there are no edits.
    public var isEmpty: Bool { removed.isEmpty && set.isEmpty }
}

/// Descriptions show only names, because a value may be a secret and descriptions end up in logs.
extension FieldEdits: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names, such as `remove: cookie; set: x-api-key`.
    public var description: String {
        let removed = removed.map(\.canonicalName).sorted().joined(separator: ", ")
        return "remove: \(removed); set: \(set.map(\.name.canonicalName).joined(separator: ", "))"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension FieldEdits {
    /// Removes the named fields without setting any. This is for a request before its key is built,
    /// and for interim responses, which have no content that a set field could describe. RFC 9110
    /// §15.2
    func withhold(from fields: inout HTTPFields) {
        fields.removeAll { removed.contains($0.name) || set.contains($0.name) }
    }

    /// Removes fields, then sets fields.
    ///
    /// - Parameter kept: the names of fields that do not change.
    func apply(to fields: inout HTTPFields, keeping kept: Set<HTTPField.Name> = []) {
        fields.removeAll { !kept.contains($0.name) && (removed.contains($0.name) || set.contains($0.name)) }
        // `HTTPFields` traps at 65,535 fields. No valid message needs that many.
        for field in set where !kept.contains(field.name) && fields.count < 65_000 { fields.append(field) }
    }

    /// Drops the trailer fields that the edits remove or set in the head. Otherwise, a program that
    /// merges trailers into the head would undo the edits. RFC 9110 §6.5.1
    func apply(toTrailersOf body: BodyStream) -> BodyStream {
        guard body.trailedContent != nil else { return body }
        let edits = self
        return body.droppingTrailers { edits.removed.contains($0) || edits.set.contains($0) }
    }
}
