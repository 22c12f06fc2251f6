import HTTPCache

/// Data that travels with a request through the engine to the request layer's own transports.
struct CallContext: Sendable {
    var info: CallInfo
    var observers: [any ObservingPlugin]
    /// When the request is tried again; `never` for content that cannot be sent twice.
    var retry: RetryPolicy
    /// Counts the retries; `nil` if the policy permits none.
    var retries: RetryCount?
    /// Whether the request may be sent twice. Otherwise it is tried again only if nothing was sent.
    var isIdempotent: Bool
    /// Receives the progress of the transfer.
    var onProgress: TransferProgress.Handler?
    /// The content, for observing plugins.
    var body: RequestBody?

    /// Whether the request needs no context.
    var isEmpty: Bool { observers.isEmpty && retry.limit == 0 && onProgress == nil }
}
