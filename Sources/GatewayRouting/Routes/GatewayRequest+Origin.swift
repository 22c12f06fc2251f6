import HTTPCacheSemantics
import HTTPWire

extension GatewayRequest {
    /// Returns the request with the origin that its path names: with the prefix `/proxy`, a request
    /// for `/proxy/https/a.example/b` is one for `/b` at `https://a.example`.
    ///
    /// - Returns: `nil` if the path is not below the prefix. If it names no origin, the result has
    ///   no host.
    func namingOrigin(below prefix: String?) -> GatewayRequest? {
        // In the absolute-form, the path is that of another host.
        guard let prefix, scheme == nil, target.utf8.starts(with: prefix.utf8) else { return nil }
        let rest = target.dropFirst(prefix.count)
        guard rest.first.map({ $0 == "/" || $0 == "?" }) ?? true else { return nil }
        var result = self
        result.scheme = .http
        result.authority = nil
        let parts = rest.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts.first, let named = parts.last,
            let scheme = Scheme(rawValue: String(first))
        else { return result }
        let authority = named.prefix { $0 != "/" && $0 != "?" }
        guard let host = RequestedHost(String(authority)) else { return result }
        let path = named.dropFirst(authority.count)
        result.scheme = scheme
        result.authority = host
        result.target = path.hasPrefix("/") ? String(path) : "/\(path)"
        // The host in its one form, because the client's spelling may be unsafe in a field.
        result.base = Base(authority: self.authority, path: "\(prefix)/\(scheme.rawValue)/\(host)")
        return result
    }
}
