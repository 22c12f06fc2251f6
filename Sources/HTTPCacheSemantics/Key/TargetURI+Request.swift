public import HTTPTypes

extension TargetURI {
    /// Reads the target of a request from the HTTP/2 pseudo-header fields.
    ///
    /// Returns `nil` if the scheme, authority or path is missing or malformed.
    ///
    /// No byte is re-encoded, because the request is already on the wire or was created by
    /// ``TargetURI/init(_:)``. Bytes that a request line may not contain (a control, a space, a
    /// non-ASCII byte, a `#`) return `nil`, and so does the asterisk-form. All other bytes stay
    /// unchanged, including `|` and `%zz`. Only scheme and host are lower-cased.
    public init?(request: HTTPRequest) {
        guard var scheme = request.scheme, var authority = request.authority, var target = request.path else {
            return nil
        }
        guard let known = scheme.withUTF8({ Self.scheme($0[...]) }) else { return nil }
        guard authority.utf8.count + target.utf8.count + 16 <= Self.maximumLength else { return nil }
        let parsed = authority.withUTF8 { Authority.parse($0[...], defaultPort: Self.defaultPort(of: known)) }
        guard case .success(let authority) = parsed else { return nil }
        let parts = target.withUTF8 { bytes -> (path: String, query: String?)? in
            guard bytes.first == UInt8(ascii: "/"), Self.mayStandInRequestLine(bytes[...]) else { return nil }
            guard let question = bytes.firstIndex(of: UInt8(ascii: "?")) else {
                return (String(decoding: bytes, as: UTF8.self), nil)
            }
            return (
                String(decoding: bytes[..<question], as: UTF8.self),
                String(decoding: bytes[(question + 1)...], as: UTF8.self)
            )
        }
        guard let parts else { return nil }
        self.init(scheme: known, host: authority.host, port: authority.port, path: parts.path, query: parts.query)
    }

    /// Reads the target of a URL as a gateway's client may have sent it: no byte is re-encoded, and
    /// the fragment is dropped.
    ///
    /// Returns `nil` if the URL is not absolute, or contains a byte that a request line may not
    /// contain.
    package init?(verbatim text: String) {
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let rest = bytes[colon...].dropFirst(3)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        // `HTTPRequest` sanitizes its path, so reject bytes that it would change.
        guard Self.mayStandInRequestLine(rest) else { return nil }
        let target = Substring(rest[end...])
        self.init(
            request: HTTPRequest(
                method: .get,
                scheme: String(Substring(bytes[..<colon])),
                authority: String(Substring(rest[..<end])),
                path: target.hasPrefix("/") ? String(target) : "/" + target
            )
        )
    }

    /// Returns the targets under which a response for this URL may be stored: verbatim, as a
    /// gateway stores it, and percent-encoded, as the library does.
    ///
    /// - Returns: one or two targets, the verbatim target first if it is valid.
    /// - Throws: ``TargetURIError`` if there is none.
    package static func readings(of text: String) throws -> [TargetURI] {
        guard let verbatim = TargetURI(verbatim: text) else { return [try TargetURI(text)] }
        guard let encoded = try? TargetURI(text), encoded != verbatim else { return [verbatim] }
        return [verbatim, encoded]
    }

    /// Returns an authority's host and port as a key contains them, regardless of the scheme. The
    /// port is `nil` if the authority has none. RFC 9110 §4.2.4 and §7.2
    ///
    /// - Returns: `nil` if the bytes are not a host with an optional port, or contain user
    ///   information.
    package static func hostAndPort(_ authority: UnsafeBufferPointer<UInt8>) -> (host: String, port: UInt16?)? {
        // Port 0 is never valid, so it can mean "no port".
        guard authority.count < maximumLength - 16,
            case .success(let parsed) = Authority.parse(authority[...], defaultPort: 0)
        else { return nil }
        return (parsed.host, parsed.port == 0 ? nil : parsed.port)
    }

    /// Returns whether all bytes are visible ASCII other than `#`. A request line may contain them
    /// in a target, whether or not RFC 3986 allows them.
    static func mayStandInRequestLine(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "#") }
    }
}
