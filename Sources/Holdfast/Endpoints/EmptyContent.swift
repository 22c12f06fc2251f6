/// The meaning of a response without content when a value is expected. It also applies to a
/// successful envelope without a model.
public enum EmptyContent: Sendable, Hashable {
    /// The response is an error with code `noData`, unless the type accepts empty content
    /// (``NoContent``, `Data`, ``RawContent``, `String` without an envelope or a path, or an
    /// optional, which becomes `nil`). This is the default.
    case missing
    /// The response is treated like this JSON: `{}`, `[]` or `null`.
    case json(String)
}
