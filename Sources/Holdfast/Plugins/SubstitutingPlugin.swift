import HTTPCache
import HTTPCacheSemantics

/// Supplies content, or another error, in place of a missing response.
///
/// ```swift
/// struct EmptyWhenOffline: SubstitutingPlugin {
///     func substitute(
///         for failure: HoldfastError,
///         of call: CallInfo
///     ) async throws -> ResponseContent? {
///         failure.code == .offlineMiss ? ResponseContent(json: "[]") : nil
///     }
/// }
/// ```
///
/// * **When**: after all retries, and only if no stored value may be used. A stored value is used
///   for an unreachable origin without calling a plugin. Each failed call calls the plugin once,
///   even if thirty callers share a fetch.
/// * **For which failures**: all without a complete response (`originUnreachable`, `timeout`,
///   `overloaded`, `offlineMiss`, `staleForbidden`, `truncated`, a missing token, and so on). For a
///   response with a rejected status or undecodable content, use a ``ProcessingPlugin``. The plugin
///   is not called for a request that could not be made (`urlMissing`, for example), a closed
///   client or a cancellation.
/// * **How it is read**: like a response. The other plugins process the content; validations,
///   envelope and decoding apply. It is never stored, and it invalidates nothing.
/// * **Mark**: the emission's source is `substitute`, its outcome has the detail
///   `CacheOutcome.Detail.substitute`, and it is stale.
/// * **After a stored value**: a stream does not replace an emitted stored value by a substitute.
///   The plugins are still called, because they may throw another error. They are not called if the
///   stream ends quietly (``NetworkFailure/endingQuietly``).
///
/// Downloads and ``ObjectBatch`` call no plugin. A call's `timeout` does not limit it.
public protocol SubstitutingPlugin: Plugin {
    /// Supplies content for a call that failed.
    ///
    /// - Parameters:
    ///   - failure: the error that the caller would receive, or that the plugin before this one put
    ///     in its place.
    ///   - call: ``CallInfo/purpose`` and ``CallInfo/attempt`` have no meaning here.
    /// - Returns: the content; `nil` leaves the failure to the next plugin, or to the caller.
    /// - Throws: the error that replaces the failure. An error that is no ``HoldfastError`` becomes
    ///   the cause of an error with the failure's code and message.
    func substitute(for failure: HoldfastError, of call: CallInfo) async throws -> ResponseContent?
}

extension CacheOutcome.Detail {
    /// A plugin supplied the content, because there was no response.
    public static let substitute = CacheOutcome.Detail("substitute")
}

extension HoldfastError {
    /// Whether there was no complete response, and the request itself is valid.
    var isWithoutResponse: Bool {
        guard status == nil else { return false }
        return switch code {
        case .invalidURL, .urlMissing, .parametersMissing, .invalidRule, .encodingFailed, .noClient: false
        case .noData, .decodingFailed, .dataFormat, .envelope, .graphQL, .fileFailed: false
        case .closed, .cancelled: false
        default: true
        }
    }
}
