import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// The fields of requests to a mirror, and those of its responses as the origin would have sent
/// them.
///
/// URLs, paths and domains of the mirror become the origin's. They are stored so, and stay right
/// when the origin is back. Content is changed for the client alone, on its way out.
///
/// A mirror belongs to another owner. Unless the configuration trusts it with credentials, it gets
/// none, nor any field that a rule sets, and no response of its own answers a request with
/// credentials.
struct MirrorFields: Sendable {
    private let map: RewriteMap
    private let scheme: String
    private let authority: String
    /// Whether the mirror is trusted with credentials.
    let takesCredentials: Bool

    /// - Parameters:
    ///   - mirror: with the path that is put before a request's.
    ///   - scheme: the origin's.
    ///   - authority: the origin's.
    init(of mirror: GatewayOrigin, for scheme: String, _ authority: String, takesCredentials: Bool) {
        map = RewriteMap(GatewayRoutes(origin: mirror))
        self.scheme = scheme
        self.authority = authority
        self.takesCredentials = takesCredentials
    }

    /// Leaves out what only the origin may know. A request with credentials of a client is not sent
    /// there at all; these are fields that a rule set, and credentials that a rule ignores.
    func withhold(from request: inout TransportRequest) {
        guard !takesCredentials else { return }
        let set = request.ruleFields
        let target = request.target
        request.head.headerFields.removeAll { field in
            CredentialPartition.isCredential(field) || set.contains { $0.name == field.name }
        }
        request.target = target
    }

    /// An interim response as the origin would have sent it.
    func translateInterim(_ fields: inout HTTPFields) {
        var rewriter = FieldRewriter(for: RewriteClient(map, route: 0, scheme: scheme, authority: authority))
        rewriter.rewrite(&fields)
    }

    /// A final response as the origin would have sent it.
    ///
    /// * A mirror that does not have something knows nothing about the origin. A part must not
    ///   complete a stored response of the origin, nor a HEAD change its fields. `Vary: *` keeps
    ///   all of these out of every cache.
    /// * A 304 confirms a stored response, which may be the origin's own. It changes no field.
    /// * Everything else is selected by all credentials, so that it answers requests without them.
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

    /// The fields of a 304 that say which response it is about, and when. RFC 9110 §15.4.5
    private static let confirming: Set<HTTPField.Name> = [.date, .eTag, .lastModified, .age]
    /// The names of all credentials.
    private static let credentials = RequestFieldTable.credentials.plainNames.joined(separator: ", ")
}
