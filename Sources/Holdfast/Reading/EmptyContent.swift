/// The meaning of a response without content, if a value is expected. It also applies to a
/// successful envelope without a model.
public enum EmptyContent: Sendable, Hashable {
    /// An error with code `noData`, unless the type accepts empty content (``NoContent``, `Data`;
    /// an optional is `nil`). The default.
    case isMissing
    /// The same as this JSON: `{}`, `[]` or `null`.
    case standsFor(String)
}
