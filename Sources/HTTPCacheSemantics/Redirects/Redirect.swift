package import HTTPTypes

/// The request that a redirect leads to. RFC 9110 §15.4, §10.2.2
///
/// Fragments are not sent, so the fragments of `Location` and of the request do not matter here.
package struct Redirect: Sendable, Hashable {
    package let head: HTTPRequest
    package let target: TargetURI
    /// Whether the content is sent again.
    package let keepsContent: Bool

    /// - Parameter secretFields: names of fields that are secrets, in addition to those known by
    ///   name.
    /// - Returns: `nil` if the response is not a redirect, or has no `Location`.
    package static func make(
        of response: HTTPResponse,
        to request: HTTPRequest,
        secretFields: Set<HTTPField.Name>
    ) -> Result<Redirect, RedirectFault>? {
        let locations = Set(response.headerFields[values: .location])
        guard response.status.isRedirect, let location = locations.first else { return nil }
        // A reference keeps unusual bytes of the target, so the result is parsed like an
        // endpoint's URL.
        guard locations.count == 1, let base = TargetURI(request: request),
            let resolved = TargetURI(reference: location.utf8, relativeTo: base),
            let target = try? TargetURI(resolved.uri)
        else { return .failure(.invalidLocation) }
        if base.scheme == "https", target.scheme == "http" { return .failure(.insecure) }
        let method = Self.method(after: response.status, request.method)
        let keepsContent = method == request.method
        var head = HTTPRequest(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: request.headerFields
        )
        let isSameOrigin = target.hasSameOrigin(as: base)
        head.headerFields.removeAll { field in
            let isSecret = !isSameOrigin && secretFields.contains(field.name)
            let isKept = RedirectedFields.keep(field.name, isSameOrigin: isSameOrigin, keepsContent: keepsContent)
            return isSecret || !isKept
        }
        return .success(Redirect(head: head, target: target, keepsContent: keepsContent))
    }

    /// Returns the method of the next request. 307 and 308 keep the method. A 303 leads to a GET
    /// (or a HEAD after a HEAD). After a 301 or 302, a POST becomes a GET, because clients have
    /// always done so. RFC 9110 §15.4.2, §15.4.3, §15.4.4
    private static func method(
        after status: HTTPResponse.Status,
        _ method: HTTPRequest.Method
    ) -> HTTPRequest.Method {
        switch (status.code, method) {
        case (303, .head): .head
        case (303, _), (301, .post), (302, .post): .get
        default: method
        }
    }
}

/// Decides which fields of a request are kept in the next request. RFC 9110 §15.4
enum RedirectedFields {
    /// Fields about the request's content, its transfer, or conditions for its effect. They are
    /// dropped together with the content.
    private static let ofContent: Set<String> = [
        "content-digest", "content-disposition", "content-encoding", "content-language", "content-length",
        "content-location", "content-md5", "content-type", "digest", "expect", "if-match", "if-modified-since",
        "if-none-match", "if-unmodified-since", "last-modified", "repr-digest", "trailer", "transfer-encoding",
    ]

    /// Fields that are also sent to another origin, because they only describe the content and the
    /// expected response. Any other field may contain a secret, known only to the author of the
    /// request.
    private static let forEveryOrigin: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-digest",
        "content-disposition", "content-encoding", "content-language", "content-length", "content-md5",
        "content-type", "digest", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "pragma", "prefer", "priority", "range", "repr-digest", "user-agent",
    ]

    static func keep(_ field: HTTPField.Name, isSameOrigin: Bool, keepsContent: Bool) -> Bool {
        let name = field.canonicalName
        // `Host` names the host of the first target.
        if name == "host" { return false }
        if !keepsContent, ofContent.contains(name) { return false }
        return isSameOrigin || forEveryOrigin.contains(name)
    }
}
