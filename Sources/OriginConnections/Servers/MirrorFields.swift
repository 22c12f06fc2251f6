import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Changes the fields of requests to a mirror, and makes its responses look as if the origin had
/// sent them.
///
/// The mirror's URLs, paths and domains are replaced with the origin's. Responses are stored in
/// this form, which stays correct when the origin is back. Content is rewritten only later, on its
/// way to the client.
///
/// Someone else may operate a mirror. Unless the configuration trusts it with credentials, it gets
/// no credentials and no fields set by rules, and its own responses never answer a request with
/// credentials.
struct MirrorFields: Sendable {
    private let map: RewriteMap
    private let scheme: String
    private let authority: String
    /// Whether the mirror is trusted with credentials.
    let takesCredentials: Bool

    /// - Parameters:
    ///   - mirror: includes the path to prepend to a request's path.
    ///   - scheme: the origin's scheme.
    ///   - authority: the origin's authority.
    init(of mirror: GatewayOrigin, for scheme: String, _ authority: String, takesCredentials: Bool) {
        map = RewriteMap(GatewayRoutes(origin: mirror))
        self.scheme = scheme
        self.authority = authority
        self.takesCredentials = takesCredentials
    }

    /// Removes fields that only the origin may see: fields set by a rule, and credentials that a
    /// rule ignores. A request with any other credentials is not sent to the mirror at all.
    func withhold(from request: inout TransportRequest) {
        guard !takesCredentials else { return }
        let set = request.ruleFields
        let target = request.target
        request.head.headerFields.removeAll { field in
            CredentialPartition.isCredential(field) || set.contains { $0.name == field.name }
        }
        request.target = target
    }

    /// Changes an interim response to look as if the origin had sent it.
    func translateInterim(_ fields: inout HTTPFields) {
        var rewriter = FieldRewriter(for: RewriteClient(map, route: 0, scheme: scheme, authority: authority))
        rewriter.rewrite(&fields)
    }

    /// Changes a final response to look as if the origin had sent it.
    ///
    /// * An error gets `Vary: *`, which keeps it out of every cache. It does not show whether the
    ///   origin has the resource.
    /// * No other response is changed further if the mirror is trusted with credentials.
    /// * A 206 must not complete a stored response of the origin, and a response to HEAD must not
    ///   change its fields. Both get `Vary: *` too.
    /// * A 304 validates a stored response, which may be the origin's own. It changes no fields.
    /// * All other responses vary by every credential, so they only answer requests without
    ///   credentials.
    ///
    /// RFC 9110 §12.5.5
    func translate(_ head: inout HTTPResponse, to method: HTTPRequest.Method) {
        translateInterim(&head.headerFields)
        switch head.status.code {
        case 400...: head.headerFields[.vary] = "*"
        case _ where takesCredentials: break
        case 206: head.headerFields[.vary] = "*"
        case _ where method == .head: head.headerFields[.vary] = "*"
        case 304: head.headerFields.removeAll { !Self.confirming.contains($0.name) }
        default: head.headerFields.append(HTTPField(name: .vary, value: Self.credentials))
        }
    }

    /// The fields of a 304 that identify its response and its time. RFC 9110 §15.4.5
    private static let confirming: Set<HTTPField.Name> = [.date, .eTag, .lastModified, .age]
    /// The names of all credential fields.
    private static let credentials = RequestFieldTable.credentials.plainNames.joined(separator: ", ")
}
