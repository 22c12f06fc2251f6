public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What an endpoint answers in tests and previews: `HoldfastTesting`'s scripted transport takes it
/// from the endpoint.
public struct SampleResponse: Sendable, Hashable {
    /// 200 unless told otherwise.
    public var status: HTTPResponse.Status
    /// None unless told otherwise.
    public var fields: HTTPFields
    /// The content.
    public var content: Data

    /// A sample of bytes.
    public init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], content: Data = Data()) {
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// A sample of JSON, or of any text, with its media type.
    public init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], json: String) {
        var fields = fields
        if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
        self.init(status: status, fields: fields, content: Data(json.utf8))
    }
}
