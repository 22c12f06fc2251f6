public import HTTPTypes
public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content and parameters of a request, and the destination of its response.
///
/// Each task chooses its encoders. They set `Content-Type` unless the endpoint or the client does.
/// The client's default parameters always go into the query.
public enum HTTPTask: Sendable {
    /// No parameters and no content.
    case plain
    /// Parameters in the query, in the content, or both, with the fields that they need. Without
    /// either, this is the same as ``plain``.
    case parameters(
        url: RequestParameters = [:],
        body: RequestParameters? = nil,
        urlEncoder: URLParameterEncoder = URLParameterEncoder(),
        bodyEncoder: any ContentEncoder = JSONContentEncoder(),
        headers: HTTPFields = [:]
    )
    /// Parameters as `name=value&…`, in the query or as a form. A form without parameters is an
    /// error (`parametersMissing`).
    case urlEncoded(
        RequestParameters,
        encoder: URLParameterEncoder = URLParameterEncoder(),
        destination: ParameterDestination = .methodDependent
    )
    /// A value as content, by default as JSON with sorted keys.
    case encodable(any Encodable & Sendable, encoder: any ContentEncoder = JSONContentEncoder())
    /// Unchanged bytes as content.
    case data(Data, contentType: String)
    /// A file of any size as content, read from disk while it is sent. The default media type is
    /// based on its extension.
    case file(String, contentType: String? = nil, parameters: RequestParameters = [:])
    /// Fields and files as `multipart/form-data`, with parameters in the query.
    case multipart(Multipart, parameters: RequestParameters = [:])
    /// Writes the response's content to a file if the call is
    /// ``CachingClient/download(_:to:onProgress:)``. Other calls ignore the destination. The
    /// parameters go into the query.
    case download(DownloadDestination, parameters: RequestParameters = [:])
    /// A GraphQL operation.
    case graphQL(GraphQLOperation)

    /// Parameters in the query.
    public static func query(_ parameters: RequestParameters) -> HTTPTask {
        .parameters(url: parameters)
    }

    /// Parameters as a JSON object in the content.
    public static func json(_ parameters: RequestParameters) -> HTTPTask {
        .parameters(body: parameters)
    }
}

/// The destination of encoded parameters.
public enum ParameterDestination: Sendable, Hashable {
    /// The query for GET, HEAD and DELETE, and the content for all other methods.
    case methodDependent
    /// The query.
    case query
    /// The content.
    case content

    /// Returns whether the parameters of a request with this method go into the query.
    func isQuery(of method: HTTPRequest.Method) -> Bool {
        switch self {
        case .methodDependent: [.get, .head, .delete].contains(method)
        case .query: true
        case .content: false
        }
    }
}

extension HTTPTask {
    /// Whether the task has at most a query to encode, regardless of the method.
    var isWithoutContent: Bool {
        switch self {
        case .plain, .download: true
        case .parameters(_, let body, _, _, _): body == nil
        case .urlEncoded(_, _, let destination): destination == .query
        case .encodable, .data, .file, .multipart, .graphQL: false
        }
    }

    /// Whether the content can be part of a key. Content that is read from files while it is sent
    /// cannot.
    var isKeyed: Bool {
        switch self {
        case .file: false
        case .multipart(let multipart, _):
            multipart.parts.allSatisfy { if case .data = $0.content { true } else { false } }
        case .plain, .parameters, .urlEncoded, .encodable, .data, .download, .graphQL: true
        }
    }

    /// The default method of an endpoint: POST if there is content, otherwise GET, because the
    /// content of a GET has no meaning (RFC 9110 §9.3.1).
    var impliedMethod: HTTPRequest.Method {
        switch self {
        case .plain, .download: .get
        case .parameters(_, let body, _, _, _): body == nil ? .get : .post
        case .urlEncoded(_, _, let destination): destination == .content ? .post : .get
        case .encodable, .data, .file, .multipart: .post
        case .graphQL(let operation): operation.impliedMethod
        }
    }
}
