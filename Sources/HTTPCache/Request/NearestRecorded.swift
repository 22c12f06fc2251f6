/// The recorded request that differs least from a refused one. It contains no credentials, and its
/// values are redacted and cut.
package struct NearestRecorded: Sendable, Hashable {
    package var method: String
    package var url: String
    /// The part that differs: `origin`, `query`, `field` or `content`; `nil` if nothing that is
    /// recorded differs.
    package var differs: String?
    /// The name of the parameter or field, or the JSON Pointer of the member.
    package var name: String?
    /// The first difference in words.
    package var difference: String?

    package init(
        method: String,
        url: String,
        differs: String? = nil,
        name: String? = nil,
        difference: String? = nil
    ) {
        self.method = method
        self.url = url
        self.differs = differs
        self.name = name
        self.difference = difference
    }
}
