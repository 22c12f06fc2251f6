package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

extension Endpoint {
    /// The request this endpoint stands for.
    ///
    /// - Parameter defaults: what the client adds to every request; the endpoint's own fields and parameters win.
    /// - Throws: ``HoldfastError`` with code `invalidURL` or `encodingFailed`.
    package func request(defaults: RequestDefaults) throws -> CacheRequest {
        var query = defaults.parameters
        var fields = defaults.fields
        var content: (bytes: ByteBuffer, type: String)?
        var urlEncoder = URLParameterEncoder()
        switch task {
        case .plain: break
        case .parameters(let url, let body, let encoder, let bodyEncoder, let headers):
            query = query.merging(url)
            urlEncoder = encoder
            for name in Set(headers.map(\.name)) { fields[fields: name] = headers[fields: name] }
            if let body { content = (ByteBuffer(bytes: try bodyEncoder.encode(body)), bodyEncoder.contentType) }
        case .encodable(let value): content = (ByteBuffer(bytes: try encodeSorted(value)), "application/json")
        case .data(let data, let contentType): content = (ByteBuffer(bytes: data), contentType)
        }
        let ownFields = headers
        for name in Set(ownFields.map(\.name)) { fields[fields: name] = ownFields[fields: name] }
        if let content, !fields.contains(.contentType) { fields[.contentType] = content.type }
        let target = try target(query: try urlEncoder.query(query))
        let head = HTTPRequest(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: fields
        )
        var keysContent = false
        if case .expiring = storage { keysContent = method == .post }
        return CacheRequest(
            head: head,
            body: content.map { .buffer($0.bytes) },
            principal: principal ?? defaults.principal,
            storage: storage,
            keysContent: keysContent
        )
    }

    private func target(query parameters: String) throws -> TargetURI {
        let base: TargetURI
        do {
            base = try TargetURI(baseURL)
        } catch {
            throw HoldfastError(
                code: .invalidURL,
                message: "The base URL of '\(Self.self)' is no URL: \(error)",
                cause: error
            )
        }
        // A path has no fragment: a '#' in it is part of a name.
        let relative = path.split(separator: "#", omittingEmptySubsequences: false).joined(separator: "%23")
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var whole = "\(base.scheme)://\(base.authority)\(base.path.joinedPath(parts.first ?? ""))"
        let hasQuery = base.query != nil || parts.count > 1 || !parameters.isEmpty
        let queries = [base.query ?? "", parts.count > 1 ? String(parts[1]) : "", parameters].filter { !$0.isEmpty }
        if hasQuery { whole += "?" + queries.joined(separator: "&") }
        do {
            return try TargetURI(whole)
        } catch {
            throw HoldfastError(
                code: .invalidURL,
                message: "The base URL '\(base.redacted)' and the path of '\(Self.self)' make no URL: \(error)",
                cause: error
            )
        }
    }
}

extension String {
    /// This path with another below it: exactly one slash between them.
    fileprivate func joinedPath(_ other: some StringProtocol) -> String {
        if other.isEmpty { return self }
        let left = hasSuffix("/") ? String(dropLast()) : self
        return other.hasPrefix("/") ? left + other : left + "/" + other
    }
}
