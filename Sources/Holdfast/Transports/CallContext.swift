import HTTPCache

/// Data that accompanies a request through the engine to the request layer's own transports.
struct CallContext: Sendable {
    var info: CallInfo
    var observers: [any ObservingPlugin]
    /// When the request is retried; `never` for content that cannot be sent twice.
    var retry: RetryPlan
    /// Counts the retries; `nil` if the policy allows none.
    var retries: RetryCount?
    /// Whether the request may be sent twice. If not, it is retried only if it was not sent because
    /// this process had no connection available.
    var isIdempotent: Bool
    /// Receives the progress of the transfer.
    var onProgress: TransferProgress.Handler?
    /// The content, for observing plugins.
    var body: RequestBody?

    /// Whether the request needs no context.
    var isEmpty: Bool { observers.isEmpty && retry.limit == 0 && onProgress == nil }
}
