package import HTTPTypes

extension CacheEngine {
    /// Whether rules may put a POST's content into its key. For that the content has to be in
    /// memory, and whoever reads it off a connection asks first.
    package func mayKeyContent(of request: HTTPRequest) -> Bool {
        guard request.method == .post, let settings = rules?.rules(for: request).settings else { return false }
        return settings.keyedContent != .asRequested && !settings.isBypassed
            && settings.admits(.post)
    }
}
