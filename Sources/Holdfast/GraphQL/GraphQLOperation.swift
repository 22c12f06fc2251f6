import Crypto
import HTTPCache
import HTTPTypes

/// A GraphQL operation: its document, and what it is run with.
///
/// ```swift
/// GraphQLOperation("query Moments($user: ID!) { moments(userID: $user) { id title } }", variables: ["user": "harbour"])
/// ```
///
/// Queries change nothing: they are joined, sent again and, where the endpoint's storage is
/// `CacheRequest.Storage.expiring`, stored under a key with their content. Everything else is a
/// mutation, whatever the endpoint's storage says. GraphQL over HTTP §6
///
/// A success of a mutation makes out of date what is stored for its URL (RFC 9111 §4.4), which is
/// every stored query of the API, unless its endpoint says otherwise:
/// ``Endpoint/invalidatesTarget``.
public struct GraphQLOperation: Sendable, Hashable {
    /// What an operation does. GraphQL §2.3
    public enum Kind: Sendable, Hashable {
        /// It reads.
        case query
        /// It writes.
        case mutation
        /// It asks for events, which a request that ends cannot have.
        case subscription
    }

    /// What is sent of the document. The method says where: in the content (POST), or in the query
    /// (GET, for queries only).
    public enum Form: Sendable, Hashable {
        /// The document itself. Sent by POST unless the endpoint says otherwise.
        case document
        /// Its SHA-256 in its place, for servers that know the document already (Apollo's persisted
        /// queries, version 1). Queries are sent by GET unless the endpoint says otherwise, so that
        /// caches on the way can keep their answers.
        case persisted
        /// Both: how a server that did not know the hash gets to know it. Sent by POST; the answer
        /// is not stored, because nothing will ask for it in this form again.
        case registering
    }

    /// The document.
    public let query: String
    /// Which of the document's operations is meant; `nil` where it has only one.
    public let operationName: String?
    /// Values of the document's variables.
    public var variables: Parameters
    /// See ``Form``.
    public var form: Form

    /// An operation.
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

    /// What the operation does; `nil` where the document cannot be read without doubt, or has no
    /// such operation. Then it is dealt with as a mutation.
    ///
    /// The document is read each time.
    public var kind: Kind? { GraphQLDocument.operation(in: query, named: operationName).map(Kind.init) }

    /// The same operation as it is sent to a server that answered
    /// ``GraphQLErrors/isPersistedQueryUnknown``.
    public var registering: GraphQLOperation {
        var operation = self
        operation.form = .registering
        return operation
    }

    /// SHA-256 of the document's bytes, in hexadecimal digits: its name as a persisted query.
    public var documentHash: String { SHA256.hash(data: Array(query.utf8)).hexadecimal }

    /// GET for queries in their persisted form, otherwise POST.
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
