/// The use of one of a store's quotas.
package struct QuotaUse: Sendable, Hashable {
    /// The quota: `tag:NAME`, `origin:https://a.example`, or `each-origin`.
    package var quota: String
    /// The space in bytes that the quota's responses use. For `each-origin`, the space of the
    /// origin that uses the most.
    package var bytes: Int64
    /// The maximum space in bytes.
    package var limit: Int64

    /// Creates the use of a quota.
    package init(quota: String, bytes: Int64, limit: Int64) {
        self.quota = quota
        self.bytes = bytes
        self.limit = limit
    }
}
