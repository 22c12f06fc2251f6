import HTTPCache
import HTTPTypes
import HoldfastContent
import NIOCore

/// An encoded task: the query, fields and content, and whether the response may be stored.
struct EncodedTask {
    /// The query without `?`; empty if there is no query.
    var query: String
    /// The fields that the task needs. An endpoint's own fields take precedence.
    var fields: HTTPFields = [:]
    var content: RequestBody?
    /// The content's media type, unless the endpoint or the client sets another.
    var contentType: String?
    /// Whether this media type replaces any other, because the content is unreadable without it.
    var needsContentType = false
    /// The accepted media types, unless the endpoint or the client sets others.
    var accept: String?
    /// Whether the response may be stored at all.
    var isStorable = true
}

extension HTTPTask {
    /// Encodes the task for a method.
    ///
    /// - Parameter defaults: the client's parameters for the query. The task's parameters of the
    ///   same name replace them.
    /// - Throws: `HoldfastError` with code `encodingFailed` or `parametersMissing`.
    func encoded(for method: HTTPRequest.Method, defaults: RequestParameters) throws -> EncodedTask {
        func query(_ own: RequestParameters = [:], _ encoder: URLParameterEncoder = URLParameterEncoder()) throws
            -> String
        {
            try encoder.query(defaults.merging(own))
        }
        switch self {
        case .plain: return EncodedTask(query: try query())
        case .parameters(let url, let body, let encoder, let bodyEncoder, let headers):
            var task = EncodedTask(query: try query(url, encoder), fields: headers)
            if let body {
                try body.check()
                task.content = .buffer(ByteBuffer(bytes: try bodyEncoder.encode(body)))
                task.contentType = bodyEncoder.contentType
            }
            return task
        case .urlEncoded(let parameters, let encoder, let destination):
            if destination.isQuery(of: method) { return EncodedTask(query: try query(parameters, encoder)) }
            guard !parameters.isEmpty else {
                throw HoldfastError(
                    code: .parametersMissing,
                    message:
                        "The form sent by '\(method)' has no parameters. Add some, or use the task 'plain'."
                )
            }
            let form = FormContentEncoder(encoder)
            return EncodedTask(
                query: try query(),
                content: .buffer(ByteBuffer(bytes: try form.encode(parameters))),
                contentType: form.contentType
            )
        case .encodable(let value, let encoder):
            let content = ByteBuffer(bytes: try encoder.encode(value))
            return EncodedTask(query: try query(), content: .buffer(content), contentType: encoder.contentType)
        case .data(let data, let type):
            return EncodedTask(query: try query(), content: .buffer(ByteBuffer(bytes: data)), contentType: type)
        case .file(let path, let type, let parameters):
            return EncodedTask(
                query: try query(parameters),
                content: .stream(try FileContent(path: path).body()),
                contentType: type ?? FileMediaTypes.type(of: path)
            )
        case .multipart(let multipart, let parameters):
            let (content, type) = try multipart.encoded()
            return EncodedTask(
                query: try query(parameters),
                content: content,
                contentType: type,
                needsContentType: true
            )
        case .download(_, let parameters): return EncodedTask(query: try query(parameters))
        case .graphQL(let operation):
            var task: EncodedTask
            if method == .get || method == .head {
                task = EncodedTask(query: try query(try operation.parameters()))
            } else {
                task = EncodedTask(query: try query())
                task.content = .buffer(ByteBuffer(bytes: try operation.content()))
                task.contentType = GraphQLOperation.contentType
            }
            task.accept = GraphQLOperation.acceptedTypes
            task.isStorable = operation.isStorable
            return task
        }
    }
}
