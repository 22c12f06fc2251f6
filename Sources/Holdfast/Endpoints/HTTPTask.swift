public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a request carries besides its path and fields.
public enum HTTPTask: Sendable {
    /// Nothing.
    case plain
    /// Parameters in the query, in the content, or both; and fields that only they need.
    ///
    /// The encoders are chosen here, per task. They set `Content-Type` where neither endpoint nor client does.
    case parameters(
        url: Parameters = [:],
        body: Parameters? = nil,
        urlEncoder: URLParameterEncoder = URLParameterEncoder(),
        bodyEncoder: any ParameterEncoder = JSONParameterEncoder(),
        headers: HTTPFields = [:]
    )
    /// A value, encoded as JSON with sorted keys.
    case encodable(any Encodable & Sendable)
    /// Bytes as they are.
    case data(Data, contentType: String)

    /// Parameters in the query.
    public static func query(_ parameters: Parameters) -> HTTPTask {
        .parameters(url: parameters)
    }

    /// Parameters as a JSON object in the content.
    public static func json(_ parameters: Parameters) -> HTTPTask {
        .parameters(body: parameters)
    }
}
