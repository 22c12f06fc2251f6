public import HTTPTypes

extension TargetURI {
    /// The target of a request in the form of HTTP/2's pseudo fields.
    ///
    /// `nil` if scheme, authority or path is missing or malformed.
    ///
    /// No byte is re-encoded here: the request is on the wire already or was made by
    /// ``TargetURI/init(_:)``. A byte that a request line may not contain (a control, a space, one
    /// outside ASCII, a `#`) gives `nil`, and so does the asterisk-form. Any other byte stays as it
    /// is, `|` and `%zz` too. Only scheme and host are lower-cased.
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

    /// The target of a URL as a client of a gateway may have sent it: no byte is re-encoded, and
    /// the fragment is dropped.
    ///
    /// `nil` if the URL is not absolute, or has a byte that a request line may not contain.
    package init?(verbatim text: String) {
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let rest = bytes[colon...].dropFirst(3)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        // A request's path is cleaned by its type, so nothing that it would change may come to it.
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

    /// The targets under which a response of this URL may be stored: with its bytes as they are, as
    /// a gateway stores it, and percent-encoded, as the library does.
    ///
    /// - Returns: one or two, the first of them as they are if that is possible.
    /// - Throws: ``TargetURIError`` if there is none.
    package static func readings(of text: String) throws -> [TargetURI] {
        guard let verbatim = TargetURI(verbatim: text) else { return [try TargetURI(text)] }
        guard let encoded = try? TargetURI(text), encoded != verbatim else { return [verbatim] }
        return [verbatim, encoded]
    }

    /// The host and the port of an authority as a key has them, whatever the scheme is; the port is
    /// `nil` if none is named. RFC 9110 §4.2.4 and §7.2
    ///
    /// - Returns: `nil` if the bytes are no host with an optional port, or have user information.
    package static func hostAndPort(_ authority: UnsafeBufferPointer<UInt8>) -> (host: String, port: UInt16?)? {
        // No authority names port 0.
        guard authority.count < maximumLength - 16,
            case .success(let parsed) = Authority.parse(authority[...], defaultPort: 0)
        else { return nil }
        return (parsed.host, parsed.port == 0 ? nil : parsed.port)
    }

    /// Whether all bytes are visible ASCII other than `#`: a request line may contain them in a
    /// target, whether or not RFC 3986 allows them.
    static func mayStandInRequestLine(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "#") }
    }
}
