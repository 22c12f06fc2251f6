package import HTTPTypes

extension CacheEngine {
    /// Whether rules may put a POST's content into its key. If so, the content must be in memory.
    /// Code that reads it from a connection asks this first.
    package func mayKeyContent(of request: HTTPRequest) -> Bool {
        guard request.method == .post, let settings = rules?.rules(for: request).settings else { return false }
        return settings.keyedContent != .asRequested && !settings.isBypassed
            && settings.admits(.post)
    }
}
