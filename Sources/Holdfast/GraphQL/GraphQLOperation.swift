import Crypto
import HTTPCache
import HTTPTypes

/// A GraphQL operation: its document, and the values of its variables.
///
/// ```swift
/// GraphQLOperation(
///     "query Moments($user: ID!) { moments(userID: $user) { id title } }",
///     variables: ["user": "harbour"]
/// )
/// ```
///
/// Queries change nothing. They are collapsed, sent again and, if the endpoint's storage is
/// `CacheRequest.Storage.expiring`, stored under a key with their content. Every other operation is
/// a mutation, whatever the endpoint's storage. GraphQL over HTTP §6
///
/// A successful mutation invalidates the stored responses of its URL (RFC 9111 §4.4). These are all
/// stored queries of the API, unless its endpoint overrides it: ``Endpoint/invalidatesTarget``.
public struct GraphQLOperation: Sendable, Hashable {
    /// The type of an operation. GraphQL §2.3
    public enum Kind: Sendable, Hashable {
        /// It reads.
        case query
        /// It writes.
        case mutation
        /// It subscribes to events, which a finite request cannot deliver.
        case subscription
    }

    /// The form in which the document is sent. The method determines the place: the content (POST),
    /// or the query (GET, for queries only).
    public enum Form: Sendable, Hashable {
        /// The document itself. Sent by POST by default.
        case document
        /// The SHA-256 of the document instead of the document, for servers that know it already
        /// (Apollo's persisted queries, version 1). Queries are sent by GET by default, so that
        /// caches on the path can store their responses.
        case persisted
        /// Both, to register the document with a server that did not know its hash. Sent by POST.
        /// The response is not stored, because no later request has this form.
        case registering
    }

    /// The document.
    public let query: String
    /// The name of the operation to run; `nil` if the document has only one.
    public let operationName: String?
    /// Values of the document's variables.
    public var variables: Parameters
    /// See ``Form``.
    public var form: Form

    /// Creates an operation.
    public init(
        _ query: String,
        variables: Parameters = [:],
        operationName: String? = nil,
        form: Form = .document
    ) {
        self.query = query
        self.variables = variables
        self.operationName = operationName
        self.form = form
    }

    /// The type of the operation. `nil` if the document is ambiguous, or has no such operation.
    /// Then it is treated as a mutation.
    ///
    /// Each access parses the document.
    public var kind: Kind? { GraphQLDocument.operation(in: query, named: operationName).map(Kind.init) }

    /// The same operation in the form for a server that responded with
    /// ``GraphQLErrors/isPersistedQueryUnknown``.
    public var registering: GraphQLOperation {
        var operation = self
        operation.form = .registering
        return operation
    }

    /// SHA-256 of the document's bytes, in hexadecimal digits: its name as a persisted query.
    public var documentHash: String { SHA256.hash(data: Array(query.utf8)).hexadecimal }

    /// GET for persisted queries, otherwise POST.
    var impliedMethod: HTTPRequest.Method { form == .persisted && kind == .query ? .get : .post }
}

extension GraphQLOperation.Kind {
    fileprivate init(_ type: GraphQLOperationType) {
        switch type {
        case .query: self = .query
        case .mutation: self = .mutation
        case .subscription: self = .subscription
        }
    }
}
