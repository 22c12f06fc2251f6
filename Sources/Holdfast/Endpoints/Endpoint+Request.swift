package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

extension Endpoint {
    /// Builds the request of this endpoint.
    ///
    /// - Parameters:
    ///   - environment: the client's environment, for endpoints without their own base URL.
    ///   - defaults: the client's additions to every request. The endpoint's own fields and
    ///     parameters take precedence.
    /// - Throws: `HoldfastError` with code `urlMissing`, `invalidURL`, `parametersMissing`,
    ///   `encodingFailed` or `invalidRule`.
    package func request(
        environment: ServerEnvironment? = nil,
        defaults: RequestDefaults
    ) throws -> CacheRequest {
        try request(task, by: method, environment, defaults)
    }

    /// Builds the request that registers this endpoint's persisted query with a server that did not
    /// know it. Returns `nil` if the endpoint's task is not a persisted query.
    ///
    /// The response is not stored. Use this after a response with
    /// `GraphQLErrors.isPersistedQueryUnknown`.
    package func registeringRequest(
        environment: ServerEnvironment? = nil,
        defaults: RequestDefaults
    ) throws -> CacheRequest? {
        guard case .graphQL(let operation) = task, operation.form == .persisted else { return nil }
        return try request(.graphQL(operation.registering), by: .post, environment, defaults)
    }

    private func request(
        _ task: HTTPTask,
        by method: HTTPRequest.Method,
        _ environment: ServerEnvironment?,
        _ defaults: RequestDefaults
    ) throws -> CacheRequest {
        let encoded = try task.encoded(for: method, defaults: parameters(of: defaults, environment))
        var fields = defaults.fields
        fields.replace(with: encoded.fields)
        fields.replace(with: try headers.httpFields())
        if let type = encoded.contentType, encoded.needsContentType || !fields.contains(.contentType) {
            fields[.contentType] = type
        }
        if let types = encoded.accept, !fields.contains(.accept) { fields[.accept] = types }
        let target = try target(in: environment, query: encoded.query)
        var isStorable = encoded.isStorable
        // Content that can be read only once cannot be part of a key.
        if case .stream? = encoded.content { isStorable = false }
        var keysContent = false
        if isStorable, case .expiring = storage { keysContent = method == .post }
        var request = CacheRequest(
            head: HTTPRequest(
                method: method,
                scheme: target.scheme,
                authority: target.authority,
                path: target.requestTarget,
                headerFields: fields
            ),
            body: encoded.content,
            principal: principal.asOptional ?? defaults.principal,
            storage: isStorable ? storage : .never,
            keysContent: keysContent
        )
        request.target = target
        let tags = tags
        if !tags.isEmpty { request.tags = try checked(tags) }
        if !method.isSafe, !invalidatesTarget { request.invalidatesTarget = false }
        return request
    }

    /// Returns the client's default parameters, except those that the endpoint's URL has. A link to
    /// the next page repeats them.
    private func parameters(of defaults: RequestDefaults, _ environment: ServerEnvironment?) -> RequestParameters {
        var parameters = defaults.parameters
        guard !parameters.isEmpty else { return parameters }
        for text in [baseURL(in: environment), path.urlPath.text] {
            for name in text.namesInQuery { parameters.values[name] = nil }
        }
        return parameters
    }

    /// Checks an endpoint's tags, which have the same limits as a rule's tags.
    private func checked(_ tags: [String]) throws -> [String] {
        let fault: String? =
            if tags.count > 32 {
                "has \(tags.count) tags; the limit is 32"
            } else if tags.contains(where: { $0.isEmpty || $0.utf8.count > 256 || $0.utf8.contains { $0 < 0x20 } }) {
                "has an invalid tag: a tag must have 1 to 256 bytes and no control characters"
            } else {
                nil
            }
        guard let fault else { return tags }
        throw HoldfastError(code: .invalidRule, message: "The endpoint '\(typeName)' \(fault).")
    }

    private func target(in environment: ServerEnvironment?, query parameters: String) throws -> TargetURI {
        let text = baseURL(in: environment)
        guard !text.isEmpty else {
            throw HoldfastError(
                code: .urlMissing,
                message:
                    "The endpoint '\(typeName)' has no base URL\(environment.map { " in the environment '\($0.name)'" } ?? ""). Set its 'baseURL', or set an environment with one in the client's configuration."
            )
        }
        let path = path.urlPath
        try path.check(of: typeName)
        // A complete URL is used as a base URL, and may also contain data.
        if text.mayHaveDotSegments { try URLPath(raw: text.afterAuthority).check(of: typeName) }
        if parameters.isEmpty, let target = plainTarget(below: text, path.text) { return target }
        let base = try TargetURI(text, inMessages: "The base URL of '\(typeName)' is not a URL")
        // A path has no fragment, so a `#` in it is part of a name.
        let relative = path.text.split(separator: "#", omittingEmptySubsequences: false).joined(separator: "%23")
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var whole = "\(base.scheme)://\(base.authority)\(base.path.joinedPath(parts.first ?? ""))"
        let hasQuery = base.query != nil || parts.count > 1 || !parameters.isEmpty
        let queries = [base.query ?? "", parts.count > 1 ? String(parts[1]) : "", parameters].filter { !$0.isEmpty }
        if hasQuery { whole += "?" + queries.joined(separator: "&") }
        return try TargetURI(whole, inMessages: "The base URL and the path of '\(typeName)' do not form a URL")
    }

    /// Returns the target if the base URL and the path only need to be joined, because neither has
    /// a query or a fragment. Returns `nil` in all other cases, including invalid URLs.
    private func plainTarget(below base: String, _ path: String) -> TargetURI? {
        let scheme = base.hasPrefix("https://") ? 8 : base.hasPrefix("http://") ? 7 : 0
        // The URL has a host, so the path cannot be mistaken for a host.
        guard scheme > 0, base.utf8.dropFirst(scheme).first.map({ $0 != UInt8(ascii: "/") }) == true,
            !base.hasQueryOrFragment, !path.hasQueryOrFragment
        else { return nil }
        return try? TargetURI(base.joinedPath(path))
    }

    /// The name of the endpoint's type, for messages.
    private var typeName: String {
        if let erased = self as? AnyEndpoint { "\(type(of: erased.base))" } else { "\(Self.self)" }
    }
}

extension HTTPFields {
    /// Removes fields with the same names, and adds the new fields in order.
    fileprivate mutating func replace(with others: HTTPFields) {
        guard !others.isEmpty else { return }
        let names = Set(others.map(\.name))
        removeAll { names.contains($0.name) }
        for field in others { append(field) }
    }
}

extension String {
    fileprivate var hasQueryOrFragment: Bool {
        var text = self
        return text.withUTF8 { bytes in bytes.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } }
    }

    /// The names of the parameters after the `?`, as written.
    fileprivate var namesInQuery: [String] {
        let query = split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first ?? ""
        return query.split(separator: "&").map { String($0.prefix { $0 != "=" }) }
    }

    /// Whether the part of the URL after its authority contains a dot, or a byte that may encode a
    /// dot.
    fileprivate var mayHaveDotSegments: Bool {
        utf8[pathStart...].contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }
    }

    /// The part of the URL after its scheme and authority. RFC 3986 §3.2
    fileprivate var afterAuthority: String { String(self[pathStart...]) }

    private var pathStart: String.Index {
        var text = self
        let offset = text.withUTF8 { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
                return 0
            }
            let end = bytes[(colon + 3)...].firstIndex {
                $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
            }
            return end ?? bytes.count
        }
        return utf8.index(startIndex, offsetBy: offset)
    }

    /// Returns this path and another path, joined by exactly one slash.
    fileprivate func joinedPath(_ other: some StringProtocol) -> String {
        if other.isEmpty { return self }
        let slash = UInt8(ascii: "/")
        let left = utf8.last == slash ? String(self[..<utf8.index(before: utf8.endIndex)]) : self
        return other.utf8.first == slash ? left + other : left + "/" + other
    }
}

extension TargetURI {
    /// - Parameter what: the start of an error's message. The rest of the message omits the query,
    ///   because the endpoint's author may not have declared all secrets in it.
    fileprivate init(_ text: String, inMessages what: String) throws {
        do {
            self = try TargetURI(text)
        } catch let whole as TargetURIError {
            var failure = HoldfastError(code: .invalidURL, message: what)
            do {
                let rest = try TargetURI(String(text.prefix { $0 != "?" })).redacted
                failure.message += "; '\(rest)' is one without its query: \(whole.code)."
            } catch {
                failure.message += ": \(error)"
                failure.cause = error
            }
            throw failure
        }
    }
}
