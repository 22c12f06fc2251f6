import HTTPCache

/// What goes along with a request through the engine, for the layer's own transports on the other
/// side.
struct CallContext: Sendable {
    var info: CallInfo
    var observers: [any ObservingPlugin]
    /// When it is tried again; `never` for content that cannot be sent twice.
    var retry: RetryPolicy
    /// Otherwise it is tried again only where nothing was sent.
    var isIdempotent: Bool
    /// Hears of what is sent.
    var onProgress: TransferProgress.Handler?
    /// The content, for those who look on.
    var body: RequestBody?

    /// Whether there is nothing to take along.
    var isEmpty: Bool { observers.isEmpty && retry.limit == 0 && onProgress == nil }
}
