import HTTPCache
import HTTPCacheSemantics
public import HoldfastContent

/// Supplies content or a different error when there is no response.
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
/// - **When**: after all retries, and only if no stored value may be used. If the origin is
///   unreachable and a stored value may be used, the stored value is served and no plugin is
///   called. The plugin is called once for each failed call, even if thirty callers share one
///   fetch.
/// - **For which failures**: all failures without a complete response (`originUnreachable`,
///   `timeout`, `overloaded`, `offlineMiss`, `staleForbidden`, `truncated`, a missing token, and so
///   on). For a response with a rejected status or undecodable content, use a ``ProcessingPlugin``.
///   The plugin is not called for a request that could not be built (for example, `urlMissing`), a
///   closed client or a cancellation.
/// - **How the content is read**: like a response. The other plugins process the content, and
///   validations, the envelope and decoding apply. The content is never stored, and causes no
///   invalidation.
/// - **How the content is marked**: the emission's source is `substitute`, its outcome has the
///   detail `CacheOutcome.Detail.substitute`, and it is stale.
/// - **After a stored value**: a stream does not replace an emitted stored value with a substitute.
///   The plugins are still called, because they may throw another error. They are not called if the
///   stream ends quietly (``NetworkFailure/endingQuietly``).
///
/// Downloads and ``ObjectBatch`` do not call this plugin. A call's `timeout` does not apply to the
/// plugin.
public protocol SubstitutingPlugin: Plugin {
    /// Supplies content for a call that failed.
    ///
    /// - Parameters:
    ///   - failure: the error that the caller would receive, or the error that the previous plugin
    ///     replaced it with.
    ///   - call: facts about the call. ``CallInfo/purpose`` and ``CallInfo/attempt`` have no
    ///     meaning here.
    /// - Returns: the content; `nil` passes the failure to the next plugin or to the caller.
    /// - Throws: the error that replaces the failure. Any error other than a `HoldfastError`
    ///   becomes the cause of an error with the failure's code and message.
    func substitute(for failure: HoldfastError, of call: CallInfo) async throws -> ResponseContent?
}

extension CacheOutcome.Detail {
    /// A plugin supplied the content, because there was no response.
    public static let substitute = CacheOutcome.Detail("substitute")
}

extension HoldfastError {
    /// Whether there was no complete response although the request itself was valid.
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
