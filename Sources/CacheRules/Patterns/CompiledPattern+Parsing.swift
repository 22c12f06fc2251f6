import HTTPCacheSemantics

extension CompiledPattern {
    /// The maximum length of a pattern, in bytes.
    static let maximumLength = 8192

    /// Parses a pattern.
    ///
    /// - Throws: the reason why the text is not a valid pattern, or cannot match any target.
    package init(_ pattern: URLPattern) throws(Refusal) {
        let text = pattern.text
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumLength else {
            throw Refusal("\(shown(text)) is too long. The limit of a pattern is \(Self.maximumLength) bytes.")
        }
        guard bytes.allSatisfy(\.isVisible) else {
            throw Refusal(
                "\(shown(text)) contains a space, a control character or a non-ASCII byte. Percent-encode it, as requests do."
            )
        }
        guard !bytes.contains(UInt8(ascii: "#")) else {
            throw Refusal(
                "\(shown(text)) contains a '#'. Fragments are never sent, so the pattern matches nothing. Remove the fragment."
            )
        }
        let slash = UInt8(ascii: "/")
        let question = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        let base = bytes[..<question]
        let query =
            question < bytes.endIndex
            ? Glob(PathNormalForm.query(bytes[(question + 1)...]), separator: nil) : nil
        guard !base.contains(UInt8(ascii: ";")) else {
            throw Refusal(
                "\(shown(text)) contains a ';', but path parameters are not compared. Remove them; write '%3B' for a semicolon in a name."
            )
        }
        if base.first == slash {
            let path = Glob(PathNormalForm.path(base), separator: slash)
            self.init(http: .any, https: .any, host: Glob("**".utf8, separator: nil), path: path, query: query)
            return
        }
        guard let colon = base.firstIndex(of: UInt8(ascii: ":")), base[colon...].starts(with: "://".utf8) else {
            throw Refusal(
                "\(shown(text)) is not a pattern. Begin with a slash, or with a scheme and a host, such as 'https://a.example/**'."
            )
        }
        let scheme = Glob(base[..<colon].map(\.asciiLowercased), separator: nil)
        let isHTTP = scheme.matches(Array("http".utf8))
        let isHTTPS = scheme.matches(Array("https".utf8))
        guard isHTTP || isHTTPS else {
            throw Refusal("\(shown(text)) matches nothing, because its scheme is neither http nor https.")
        }
        let rest = base[(colon + 3)...]
        guard let start = rest.firstIndex(of: slash) else {
            throw Refusal(
                "\(shown(text)) has no path. End it with '/**' for all paths, or with '/' for the root only."
            )
        }
        let authority = try Self.authority(rest[..<start], of: text)
        self.init(
            http: isHTTP ? authority.port ?? .number(80) : nil,
            https: isHTTPS ? authority.port ?? .number(443) : nil,
            host: authority.host,
            path: Glob(PathNormalForm.path(rest[start...]), separator: slash),
            query: query
        )
    }

    private static func authority(
        _ bytes: ArraySlice<UInt8>,
        of text: String
    ) throws(Refusal) -> (host: Glob, port: Port?) {
        let colon = UInt8(ascii: ":")
        guard !bytes.contains(UInt8(ascii: "@")) else {
            throw Refusal("\(shown(text)) contains user information, which no target has. Remove it.")
        }
        let isBracketed = bytes.first == UInt8(ascii: "[")
        let end: Int
        if isBracketed {
            end = bytes.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 } ?? bytes.endIndex
        } else {
            end = bytes.firstIndex(of: colon) ?? bytes.endIndex
        }
        let host = bytes[..<end].map(\.asciiLowercased)
        let isWild = host.contains(UInt8(ascii: "*"))
        // To check that some host can match, replace each star with a letter.
        let sample = host.map { $0 == UInt8(ascii: "*") ? UInt8(ascii: "a") : $0 }
        guard !host.isEmpty, !(isBracketed && isWild),
            (try? TargetURI("http://\(String(decoding: sample, as: UTF8.self))/")) != nil
        else { throw Refusal("The host of \(shown(text)) is not valid, so this matches nothing.") }
        return (Glob(host, separator: UInt8(ascii: ".")), try port(bytes[end...], of: text))
    }

    private static func port(_ bytes: ArraySlice<UInt8>, of text: String) throws(Refusal) -> Port? {
        guard bytes.first == UInt8(ascii: ":") else {
            if bytes.isEmpty { return nil }
            throw Refusal("The host of \(shown(text)) is not valid, so this matches nothing.")
        }
        let digits = String(decoding: bytes.dropFirst(), as: UTF8.self)
        if digits == "*" { return .any }
        guard let number = UInt16(digits), number > 0, digits.utf8.first != UInt8(ascii: "+") else {
            throw Refusal("The port of \(shown(text)) is neither a number from 1 to 65535 nor '*'.")
        }
        return .number(number)
    }
}
