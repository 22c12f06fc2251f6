package import HTTPCacheSemantics
package import HTTPTypes

/// A request of a job: what the job's file says about it. It contains no credentials.
package struct JobRequest: Sendable, Hashable {
    package var method: HTTPRequest.Method
    /// The origin's URL, without secret parameters.
    package var target: TargetURI
    /// The fields that selected the response among its variants. If no response was stored, the
    /// fields that usually do: `Accept`, `Accept-Encoding` and `Accept-Language`. If the content is
    /// in the key, also the fields that describe it.
    package var fields: HTTPFields
    /// The SHA-256 of the content, if it is in the key.
    package var content: [UInt8]?
    /// The form in which the content of a POST is in the key; `nil` if it is not known.
    package var form: ContentForm?
    /// The outline of the content, if it is in the key and is JSON.
    package var members: JSONOutline?

    package init(
        method: HTTPRequest.Method,
        target: TargetURI,
        fields: HTTPFields = [:],
        content: [UInt8]? = nil
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.content = content
    }

    /// The request as the cache gets it when the job is judged. The content itself is not known,
    /// but its digest is enough for the key.
    var cacheRequest: CacheRequest {
        let head = HTTPRequest(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: fields
        )
        var request = CacheRequest(head: head)
        // As a gateway's requests do.
        request.decodesGzip = true
        // As in a replay, the rules and the job decide whether the content of a POST is keyed.
        request.contentDigest = content
        request.digestForm = form
        return request
    }
}
