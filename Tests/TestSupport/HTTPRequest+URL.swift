import HTTPCacheSemantics
package import HTTPTypes

extension HTTPRequest {
    /// A request for an absolute URL.
    package init(_ method: Method = .get, url: String, fields: HTTPFields = [:]) throws {
        let target = try TargetURI(url)
        self.init(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: fields
        )
    }
}
