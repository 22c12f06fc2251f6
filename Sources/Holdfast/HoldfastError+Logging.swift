import HTTPCacheSemantics
import HoldfastContent

extension HoldfastError {
    /// The message for logs, which hold no query values.
    var logged: String { Redaction.withoutQueries(in: message) }
}
