import HTTPCache
import HTTPTypes
import NIOCore

/// What a task comes to: the query, fields, content, and what the store may do with the answer.
struct EncodedTask {
    /// Without `?`; empty where there is none.
    var query: String
    /// Only these the task needs; an endpoint's own win.
    var fields: HTTPFields = [:]
    var content: RequestBody?
    /// The content's media type, where nobody says another.
    var contentType: String?
    /// Whether it is sent with this media type whatever anybody says, because the content cannot be
    /// read without it.
    var needsContentType = false
    /// What is accepted, where nobody says anything else.
    var accept: String?
    /// Whether the answer may be stored at all.
    var isStorable = true
}

extension HTTPTask {
    /// The task as it is sent by a method.
    ///
    /// - Parameter defaults: parameters for the query; the task's own of the same name take their
    ///   place.
    /// - Throws: ``HoldfastError`` with code `encodingFailed` or `parametersMissing`.
    func encoded(for method: HTTPRequest.Method, defaults: Parameters) throws -> EncodedTask {
        func query(_ own: Parameters = [:], _ encoder: URLParameterEncoder = URLParameterEncoder()) throws -> String {
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
                        "The form that is sent by '\(method)' has no parameters. Give it some, or take the task 'plain'."
                )
            }
            return EncodedTask(
                query: try query(),
                content: .buffer(ByteBuffer(bytes: try encoder.encode(parameters))),
                contentType: encoder.contentType
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
