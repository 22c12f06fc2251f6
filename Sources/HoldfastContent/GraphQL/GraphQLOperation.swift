import Crypto
import HTTPCache
package import HTTPTypes

/// A GraphQL operation: a document, and the values of its variables.
///
/// ```swift
/// GraphQLOperation(
///     "query Moments($user: ID!) { moments(userID: $user) { id title } }",
///     variables: ["user": "harbour"]
/// )
/// ```
///
/// Queries change nothing, so they may be collapsed and retried. The response to a query sent by
/// GET is stored like any other response. The response to a query sent by POST is stored only if
/// the endpoint's storage is `CacheRequest.Storage.expiring`, under a key that includes the
/// content. Every other operation is a mutation, regardless of the endpoint's storage. GraphQL over
/// HTTP §6
///
/// A successful mutation invalidates the stored responses of its URL (RFC 9111 §4.4). Because a
/// GraphQL API has one URL, these are all stored queries of the API. An endpoint can override this:
/// see `Endpoint.invalidatesTarget`.
public struct GraphQLOperation: Sendable, Hashable {
    /// The type of an operation. GraphQL §2.3
    public enum Kind: Sendable, Hashable {
        /// The operation reads data.
        case query
        /// The operation changes data.
        case mutation
        /// The operation subscribes to events, which a finite request cannot deliver.
        case subscription
    }

    /// The form in which the document is sent. The method determines where it is sent: POST in the
    /// content, GET in the query. Only queries can use GET.
    public enum Form: Sendable, Hashable {
        /// The document itself, sent by POST by default.
        case document
        /// The SHA-256 hash instead of the document, for servers that already know the document
        /// (Apollo's persisted queries, version 1). Queries use GET by default, so that caches
        /// between the client and the server can store the responses.
        case persisted
        /// The document and its hash, to register the document with a server that did not know the
        /// hash. Sent by POST. The response is not stored, because no later request has this form.
        case registering
    }

    /// The document.
    public let query: String
    /// The name of the operation to run; `nil` if the document has only one operation.
    public let operationName: String?
    /// The values of the document's variables.
    public var variables: RequestParameters
    /// The form in which the document is sent.
    public var form: Form

    /// Creates an operation.
    public init(
        _ query: String,
        variables: RequestParameters = [:],
        operationName: String? = nil,
        form: Form = .document
    ) {
        self.query = query
        self.variables = variables
        self.operationName = operationName
        self.form = form
    }

    /// The type of the operation; `nil` if the document is ambiguous or does not contain the
    /// operation. An operation of unknown type is treated as a mutation.
    ///
    /// Each access parses the document.
    public var kind: Kind? { GraphQLDocument.operation(in: query, named: operationName).map(Kind.init) }

    /// The same operation, in the form for a server that responded with
    /// ``GraphQLErrors/isPersistedQueryUnknown``.
    public var registering: GraphQLOperation {
        var operation = self
        operation.form = .registering
        return operation
    }

    /// The SHA-256 hash of the document's bytes in hexadecimal, which identifies the document as a
    /// persisted query.
    public var documentHash: String { SHA256.hash(data: Array(query.utf8)).hexadecimal }

    /// The default method: GET for persisted queries, otherwise POST.
    package var impliedMethod: HTTPRequest.Method { form == .persisted && kind == .query ? .get : .post }
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
