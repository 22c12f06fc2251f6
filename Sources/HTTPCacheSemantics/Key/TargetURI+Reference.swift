extension TargetURI {
    /// Resolves a reference (`Location`, `Content-Location`) against a base. RFC 3986 §5.2
    ///
    /// Dot segments are removed as §5.2.2 requires, and so is the fragment. An empty reference
    /// resolves to the base. Bytes that a request line may contain (`|`, `%zz`, `%2e`) stay
    /// unchanged, both in the base and in the reference. Spaces and non-ASCII bytes are
    /// percent-encoded.
    ///
    /// ```swift
    /// let base = try TargetURI("https://a.example/x/y?q")
    /// TargetURI(reference: "../z#top".utf8, relativeTo: base)?.uri  // "https://a.example/z"
    /// ```
    ///
    /// - Returns: `nil` in these cases:
    ///   - the scheme is not `http` or `https`;
    ///   - the authority is invalid (`http:x` has none);
    ///   - the reference contains a control character;
    ///   - the result is longer than ``maximumLength``.
    package init?(reference: some Collection<UInt8>, relativeTo base: TargetURI) {
        guard reference.count <= Self.maximumLength, !reference.contains(where: \.isControl) else { return nil }
        // The fragment is not sent.
        let bytes = Array(reference.prefix { $0 != UInt8(ascii: "#") })
        let parts = bytes.withUnsafeBufferPointer { ReferenceParts($0, relativeTo: base) }
        guard let parts else { return nil }
        var path = Array(base.path.utf8)
        var query = base.query
        if parts.namesAuthority || !parts.path.isEmpty {
            if parts.namesAuthority || parts.path.first == UInt8(ascii: "/") {
                path = parts.path
            } else {
                // §5.2.3: the base's path up to its last slash. It always begins with a slash.
                let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
                path = path[..<slash] + [UInt8(ascii: "/")] + parts.path
            }
            path = Self.withoutDotSegments(path)
            query = nil
        }
        if let own = parts.query { query = Self.sendable(own) }
        let target = TargetURI(
            scheme: parts.scheme,
            host: parts.authority.host,
            port: parts.authority.port,
            path: Self.sendable(path),
            query: query
        )
        // Scheme, punctuation and port take less than 16 bytes; the host is counted once.
        let length = target.host.utf8.count + target.path.utf8.count + (target.query?.utf8.count ?? 0) + 16
        guard length <= Self.maximumLength else { return nil }
        self = target
    }

    /// Returns whether scheme, host and port are the same. RFC 9110 §4.3.1
    package func hasSameOrigin(as other: TargetURI) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    /// Removes dot segments (RFC 3986 §5.2.4) from a path that is empty or begins with a slash. The
    /// result is never empty.
    private static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isDot = segment.elementsEqual([UInt8(ascii: ".")])
            let isDoubleDot = segment.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")])
            if isDoubleDot { _ = kept.popLast() }
            if !isDot && !isDoubleDot {
                kept.append(segment)
            } else if index == segments.count - 1 {
                // A path that ends in a dot segment ends in a slash.
                kept.append([])
            }
        }
        var result: [UInt8] = []
        result.reserveCapacity(path.count + 1)
        for segment in kept {
            result.append(slash)
            result += segment
        }
        return result.isEmpty ? [slash] : result
    }

    /// Percent-encodes the bytes that a request line may not contain and leaves all others
    /// unchanged.
    private static func sendable(_ bytes: [UInt8]) -> String {
        if mayStandInRequestLine(bytes) { return String(decoding: bytes, as: UTF8.self) }
        var result: [UInt8] = []
        for byte in bytes {
            if byte.isVisible && byte != UInt8(ascii: "#") {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), (byte >> 4).hexDigit, byte.hexDigit]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The parts of a reference. The base supplies the missing parts. RFC 3986 §4.1, §5.2.2
private struct ReferenceParts {
    var scheme: String
    var authority: Authority
    /// Whether the reference has its own authority, so that the base's path is not used.
    var namesAuthority: Bool
    var path: [UInt8]
    /// The query; `nil` if there is no `?`.
    var query: [UInt8]?

    init?(_ bytes: UnsafeBufferPointer<UInt8>, relativeTo base: TargetURI) {
        scheme = base.scheme
        authority = Authority(host: base.host, port: base.port)
        let slash = UInt8(ascii: "/")
        var rest = bytes[...]
        let end = rest.firstIndex { $0 == slash || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        var namesScheme = false
        // A colon in the first segment ends a scheme, because the first segment of a relative path
        // must not contain a colon. §4.2
        if let colon = rest[..<end].firstIndex(of: UInt8(ascii: ":")) {
            guard let known = TargetURI.scheme(bytes[..<colon]) else { return nil }
            scheme = known
            namesScheme = true
            rest = rest[(colon + 1)...]
        }
        namesAuthority = rest.starts(with: [slash, slash])
        if namesAuthority {
            rest = rest.dropFirst(2)
            let authorityEnd = rest.firstIndex { $0 == slash || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            let parsed = Authority.parse(
                rest[..<authorityEnd],
                defaultPort: TargetURI.defaultPort(of: scheme)
            )
            guard case .success(let named) = parsed else { return nil }
            authority = named
            rest = rest[authorityEnd...]
        } else if namesScheme {
            return nil
        }
        let question = rest.firstIndex(of: UInt8(ascii: "?"))
        path = Array(rest[..<(question ?? rest.endIndex)])
        query = question.map { Array(rest[($0 + 1)...]) }
    }
}
