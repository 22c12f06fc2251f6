public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content and parameters of a request, and the destination of its response.
///
/// Each task chooses its encoders. They set `Content-Type` if neither endpoint nor client does. The
/// client's default parameters go into the query, whatever the task.
public enum HTTPTask: Sendable {
    /// No parameters and no content.
    case plain
    /// Parameters in the query, in the content, or both, with fields that only they need. With
    /// neither it is the same as ``plain``.
    case parameters(
        url: Parameters = [:],
        body: Parameters? = nil,
        urlEncoder: URLParameterEncoder = URLParameterEncoder(),
        bodyEncoder: any ParameterEncoder = JSONParameterEncoder(),
        headers: HTTPFields = [:]
    )
    /// Parameters as `name=value&…`, in the query or as a form. A form without parameters is an
    /// error (`parametersMissing`).
    case urlEncoded(
        Parameters,
        encoder: URLParameterEncoder = URLParameterEncoder(),
        destination: ParameterDestination = .methodDependent
    )
    /// A value as content: JSON with sorted keys by default.
    case encodable(any Encodable & Sendable, encoder: any ContentEncoder = JSONContentEncoder())
    /// Bytes as they are.
    case data(Data, contentType: String)
    /// A file as content, read from disk while it is sent, whatever its size. The default media
    /// type follows from its extension.
    case file(String, contentType: String? = nil, parameters: Parameters = [:])
    /// Fields and files as `multipart/form-data`, with parameters in the query.
    case multipart(Multipart, parameters: Parameters = [:])
    /// Writes the response's content to a file, by ``CachingClient/download(_:to:onProgress:)``.
    /// Other calls ignore the destination. Parameters go into the query.
    case download(DownloadDestination, parameters: Parameters = [:])
    /// A GraphQL operation.
    case graphQL(GraphQLOperation)

    /// Parameters in the query.
    public static func query(_ parameters: Parameters) -> HTTPTask {
        .parameters(url: parameters)
    }

    /// Parameters as a JSON object in the content.
    public static func json(_ parameters: Parameters) -> HTTPTask {
        .parameters(body: parameters)
    }
}

/// The place of encoded parameters.
public enum ParameterDestination: Sendable, Hashable {
    /// The query for GET, HEAD and DELETE, the content for all other methods.
    case methodDependent
    /// The query.
    case query
    /// The content.
    case content

    /// Whether parameters go into the query of a request with this method.
    func isQuery(of method: HTTPRequest.Method) -> Bool {
        switch self {
        case .methodDependent: [.get, .head, .delete].contains(method)
        case .query: true
        case .content: false
        }
    }
}

extension HTTPTask {
    /// Whether only a query has to be encoded, whatever the method.
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

    /// The method of an endpoint that names none: POST if there is content, otherwise GET. RFC 9110
    /// §9.3.1 gives the content of a GET no meaning.
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
