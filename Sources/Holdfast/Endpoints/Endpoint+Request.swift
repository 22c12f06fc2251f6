package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension Endpoint {
    /// The request this endpoint stands for.
    ///
    /// - Parameters:
    ///   - environment: the client's, for endpoints without a base URL of their own.
    ///   - defaults: what the client adds to every request; the endpoint's own fields and
    ///     parameters win.
    /// - Throws: ``HoldfastError`` with code `urlMissing`, `invalidURL`, `parametersMissing`,
    ///   `encodingFailed` or `invalidRule`.
    package func request(
        environment: ServerEnvironment? = nil,
        defaults: RequestDefaults
    ) throws -> CacheRequest {
        try request(task, by: method, environment, defaults)
    }

    /// The request by which a server that did not know this endpoint's persisted query gets to know
    /// it, and answers it; `nil` where the endpoint's task is no persisted query.
    ///
    /// Its answer is not stored. It is for an answer with
    /// ``GraphQLErrors/isPersistedQueryUnknown``.
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
        let encoded = try task.encoded(for: method, defaults: defaults.parameters)
        var fields = defaults.fields
        fields.replace(with: encoded.fields)
        fields.replace(with: try headers.httpFields())
        if let type = encoded.contentType, encoded.needsContentType || !fields.contains(.contentType) {
            fields[.contentType] = type
        }
        if let types = encoded.accept, !fields.contains(.accept) { fields[.accept] = types }
        let target = try target(in: environment, query: encoded.query)
        var isStorable = encoded.isStorable
        // What is read once is part of no key.
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
            principal: principal ?? defaults.principal,
            storage: isStorable ? storage : .never,
            keysContent: keysContent
        )
        request.target = target
        let tags = tags
        if !tags.isEmpty { request.tags = try checked(tags) }
        if !method.isSafe, !invalidatesTarget { request.invalidatesTarget = false }
        return request
    }

    /// What a rule may have of them, an endpoint may have.
    private func checked(_ tags: [String]) throws -> [String] {
        let fault: String? =
            if tags.count > 32 {
                "has \(tags.count) tags; the limit is 32"
            } else if tags.contains(where: { $0.isEmpty || $0.utf8.count > 256 || $0.utf8.contains { $0 < 0x20 } }) {
                "has a tag that is none: one has 1 to 256 bytes and no control characters"
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
                    "The endpoint '\(typeName)' has no base URL\(environment.map { " in the environment '\($0.name)'" } ?? ""). Give it a 'baseURL', or the client's configuration an environment with one."
            )
        }
        let path = path.urlPath
        try path.check(of: typeName)
        // A URL that is given whole is a base URL, and may have data in it as well.
        if text.mayHaveDotSegments { try URLPath(raw: text.afterAuthority).check(of: typeName) }
        if parameters.isEmpty, let target = plainTarget(below: text, path.text) { return target }
        let base = try TargetURI(text, inMessages: "The base URL of '\(typeName)' is no URL")
        // A path has no fragment: a '#' in it is part of a name.
        let relative = path.text.split(separator: "#", omittingEmptySubsequences: false).joined(separator: "%23")
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var whole = "\(base.scheme)://\(base.authority)\(base.path.joinedPath(parts.first ?? ""))"
        let hasQuery = base.query != nil || parts.count > 1 || !parameters.isEmpty
        let queries = [base.query ?? "", parts.count > 1 ? String(parts[1]) : "", parameters].filter { !$0.isEmpty }
        if hasQuery { whole += "?" + queries.joined(separator: "&") }
        return try TargetURI(whole, inMessages: "The base URL and the path of '\(typeName)' make no URL")
    }

    /// The target, where base URL and path need only be put together: neither has a query or a
    /// fragment. `nil` also where something is wrong with them.
    private func plainTarget(below base: String, _ path: String) -> TargetURI? {
        let scheme = base.hasPrefix("https://") ? 8 : base.hasPrefix("http://") ? 7 : 0
        // With a host in it, what follows cannot be taken for one.
        guard scheme > 0, base.utf8.dropFirst(scheme).first.map({ $0 != UInt8(ascii: "/") }) == true,
            !base.hasQueryOrFragment, !path.hasQueryOrFragment
        else { return nil }
        return try? TargetURI(base.joinedPath(path))
    }

    /// The endpoint's type, for messages.
    private var typeName: String {
        if let erased = self as? AnyEndpoint { "\(type(of: erased.base))" } else { "\(Self.self)" }
    }
}

extension HTTPFields {
    /// Puts other fields in the place of those with the same names, in their order.
    fileprivate mutating func replace(with others: HTTPFields) {
        guard !others.isEmpty else { return }
        let names = Set(others.map(\.name))
        removeAll { names.contains($0.name) }
        for field in others { append(field) }
    }
}

extension String {
    fileprivate var hasQueryOrFragment: Bool { utf8.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } }

    /// Whether the URL has a dot, or a byte that may stand for one, behind its authority.
    fileprivate var mayHaveDotSegments: Bool {
        utf8[pathStart...].contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }
    }

    /// The part of the URL behind its scheme and authority. RFC 3986 §3.2
    fileprivate var afterAuthority: String { String(self[pathStart...]) }

    private var pathStart: String.Index {
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")), utf8[colon...].starts(with: "://".utf8) else {
            return startIndex
        }
        let authority = utf8.index(colon, offsetBy: 3)
        let ends = "/?#".utf8
        return utf8[authority...].firstIndex { ends.contains($0) } ?? endIndex
    }

    /// This path with another below it: exactly one slash between them.
    fileprivate func joinedPath(_ other: some StringProtocol) -> String {
        if other.isEmpty { return self }
        let slash = UInt8(ascii: "/")
        let left = utf8.last == slash ? String(self[..<utf8.index(before: utf8.endIndex)]) : self
        return other.utf8.first == slash ? left + other : left + "/" + other
    }
}

extension TargetURI {
    /// - Parameter what: the beginning of an error's message. The rest of it has no query: which of
    ///   its values are secrets, an endpoint's author need not have said.
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
