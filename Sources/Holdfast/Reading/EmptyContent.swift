/// What a response without content means where a value is expected; and so does a successful
/// envelope without a model.
public enum EmptyContent: Sendable, Hashable {
    /// An error with code `noData`, unless the type takes anything (``NoContent``, `Data`, an
    /// optional is `nil`). The default.
    case isMissing
    /// As if this JSON stood there: `{}`, `[]` or `null`.
    case standsFor(String)
}
