import HTTPCache
import HTTPCacheSemantics

/// Puts content, or another error, in the place of a response that did not come.
///
/// ```swift
/// struct EmptyWhenOffline: SubstitutingPlugin {
///     func substitute(for failure: HoldfastError, of call: CallInfo) async throws -> ResponseContent? {
///         failure.code == .offlineMiss ? ResponseContent(json: "[]") : nil
///     }
/// }
/// ```
///
/// * **When**: after all retries, and after the stored values. What is stored stands in for an
///   unreachable origin without a plugin being asked. Each failed call asks once; each of thirty
///   callers who share a fetch is a call.
/// * **For what**: every failure for which no whole response came (`originUnreachable`, `timeout`,
///   `overloaded`, `offlineMiss`, `staleForbidden`, `truncated`, a missing token, …). A response
///   that came is a ``ProcessingPlugin``'s: a refused status, content that does not decode. A
///   request that could not be made (`urlMissing`, say), a closed client and a cancellation are
///   nobody's.
/// * **As what**: the content is read as a response is. The other plugins process it; validations,
///   envelope and decoding count. It is never stored, and it invalidates nothing.
/// * **Marked**: the emission's source is `substitute`, its outcome has the detail
///   `CacheOutcome.Detail.substitute`, and it is stale.
/// * **After a stored value**: a stream that emitted one does not replace it by a substitute. Its
///   plugins are asked all the same, because they may throw another error; where the stream ends
///   quietly (``NetworkFailure/endingQuietly``), they are not.
///
/// Downloads and ``ObjectBatch`` ask no plugin. A call's `timeout` does not limit it.
public protocol SubstitutingPlugin: Plugin {
    /// Makes content for a call that failed.
    ///
    /// - Parameters:
    ///   - failure: as the caller would get it, or as the plugin before this one changed it.
    ///   - call: ``CallInfo/purpose`` and ``CallInfo/attempt`` say nothing here.
    /// - Returns: the content; `nil` leaves the failure to the next plugin, or to the caller.
    /// - Throws: the error that takes the failure's place. One that is no ``HoldfastError`` becomes
    ///   the cause of an error with the failure's code and message.
    func substitute(for failure: HoldfastError, of call: CallInfo) async throws -> ResponseContent?
}

extension CacheOutcome.Detail {
    /// A plugin made the content, because no response came.
    public static let substitute = CacheOutcome.Detail("substitute")
}

extension HoldfastError {
    /// Whether no whole response came, and the request itself is not to blame.
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
