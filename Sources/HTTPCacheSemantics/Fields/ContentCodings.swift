package import HTTPTypes

/// Whether content can be read and changed on its way to a client.
extension HTTPFields {
    /// The codings in `Content-Encoding`, in lower case, without `identity`. RFC 9110 §8.4
    package var contentCodings: [String] {
        // `x-gzip` means `gzip`. RFC 9110 §8.4.1.3
        listMembers(.contentEncoding).map { $0 == "x-gzip" ? "gzip" : $0 }.filter { $0 != "identity" }
    }

    /// Whether `no-transform` forbids changing the content. RFC 9111 §5.2.2.6
    package var forbidsTransforming: Bool { listMembers(.cacheControl).contains("no-transform") }
}
