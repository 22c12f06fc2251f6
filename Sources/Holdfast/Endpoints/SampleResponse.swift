public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The response to an endpoint in tests and previews. The scripted transport of `HoldfastTesting`
/// uses it.
public struct SampleResponse: Sendable, Hashable {
    /// The status. 200 by default.
    public var status: HTTPResponse.Status
    /// The fields. None by default.
    public var fields: HTTPFields
    /// The content.
    public var content: Data

    /// Creates a sample from bytes.
    public init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], content: Data = Data()) {
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// Creates a sample from JSON. For other text, set `Content-Type` in `fields`.
    public init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], json: String) {
        var fields = fields
        if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
        self.init(status: status, fields: fields, content: Data(json.utf8))
    }
}
