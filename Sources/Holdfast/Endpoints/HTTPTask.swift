public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a request carries besides its path and fields, and what becomes of the answer.
///
/// Encoders are chosen here, per task. They set `Content-Type` where neither endpoint nor client
/// does. The client's default parameters are in the query, whatever the task.
public enum HTTPTask: Sendable {
    /// Nothing.
    case plain
    /// Parameters in the query, in the content, or both; and fields that only they need. With
    /// neither it is ``plain``.
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
    /// A value as content: JSON with sorted keys unless told otherwise.
    case encodable(any Encodable & Sendable, encoder: any ContentEncoder = JSONContentEncoder())
    /// Bytes as they are.
    case data(Data, contentType: String)
    /// A file as content, read from disk while it is sent, whatever its size. Without a media type
    /// the one of its extension.
    case file(String, contentType: String? = nil, parameters: Parameters = [:])
    /// Fields and files as `multipart/form-data`; parameters in the query.
    case multipart(Multipart, parameters: Parameters = [:])
    /// The answer's content goes to a file, by ``CachingClient/download(_:to:onProgress:)``;
    /// whatever else makes a value of it leaves files alone. Parameters in the query.
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

/// Where encoded parameters go.
public enum ParameterDestination: Sendable, Hashable {
    /// The query for GET, HEAD and DELETE, the content for all other methods.
    case methodDependent
    /// The query.
    case query
    /// The content.
    case content

    /// Whether it is the query of a request with this method.
    func isQuery(of method: HTTPRequest.Method) -> Bool {
        switch self {
        case .methodDependent: [.get, .head, .delete].contains(method)
        case .query: true
        case .content: false
        }
    }
}

extension HTTPTask {
    /// Whether there is nothing to encode but a query, whatever the method.
    var isWithoutContent: Bool {
        switch self {
        case .plain, .download: true
        case .parameters(_, let body, _, _, _): body == nil
        case .urlEncoded(_, _, let destination): destination == .query
        case .encodable, .data, .file, .multipart, .graphQL: false
        }
    }

    /// Whether a key can name its content: what is read from files while it is sent is part of
    /// none.
    var isKeyed: Bool {
        switch self {
        case .file: false
        case .multipart(let multipart, _):
            multipart.parts.allSatisfy { if case .data = $0.content { true } else { false } }
        case .plain, .parameters, .urlEncoded, .encodable, .data, .download, .graphQL: true
        }
    }

    /// The method of an endpoint that names none: POST where there is content (RFC 9110 §9.3.1
    /// gives that of a GET no meaning), otherwise GET.
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
