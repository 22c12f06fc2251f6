extension TargetURI {
    /// Parses an absolute URI.
    ///
    /// A path whose escapes are `%00` or do not decode to UTF-8 (`/%FF`) is refused: AsyncHTTPClient asks Foundation for the decoded path, gets an
    /// empty string, and would send `/` in its place. In a query they are harmless, and stay.
    ///
    /// - Throws: ``TargetURIError``: not `http` or `https`, no host, user information, a control character, a bad port, a
    ///   host that is not ASCII, a path that cannot be sent, or longer than 65,535 octets.
    public init(_ text: String) throws {
        var copy = text
        switch copy.withUTF8({ Self.parse($0) }) {
        case .success(let target): self = target
        case .failure(let refusal): throw TargetURIError(refusal.code, text: text)
        }
    }

    /// Whether ``init(_:)`` takes ``uri`` and changes nothing of it.
    package var isAsParsed: Bool {
        var (path, query) = (path, query)
        let isPathAsParsed = path.withUTF8 {
            $0.first == UInt8(ascii: "/") && Self.isEncoded($0[...], allowed: \.isPathOctet)
        }
        guard isPathAsParsed, Self.isDecodable(path) else { return false }
        guard query?.withUTF8({ Self.isEncoded($0[...], allowed: \.isQueryOctet) }) ?? true else { return false }
        // What stands between the parts, the port included, is 10 octets at most.
        return 10 + scheme.utf8.count + host.utf8.count + path.utf8.count + (query?.utf8.count ?? 0)
            <= Self.maximumLength
    }

    /// What is wrong, before the message is made.
    struct Refusal: Error {
        var code: TargetURIError.Code
    }

    private static func parse(_ octets: UnsafeBufferPointer<UInt8>) -> Result<TargetURI, Refusal> {
        guard octets.count <= maximumLength else { return .failure(Refusal(code: .tooLong)) }
        guard !octets.contains(where: \.isControl) else { return .failure(Refusal(code: .controlCharacter)) }
        guard let colon = octets.firstIndex(of: UInt8(ascii: ":")), let scheme = Self.scheme(octets[..<colon]) else {
            return .failure(Refusal(code: .unsupportedScheme))
        }
        let slash = UInt8(ascii: "/")
        guard octets.count > colon + 2, octets[colon + 1] == slash, octets[colon + 2] == slash else {
            return .failure(Refusal(code: .missingHost))
        }
        let end = octets.firstIndex(of: UInt8(ascii: "#")) ?? octets.endIndex
        let start = colon + 3
        let authorityEnd =
            octets[start..<end].firstIndex(where: { $0 == slash || $0 == UInt8(ascii: "?") }) ?? end
        let authority: Authority
        switch Authority.parse(octets[start..<authorityEnd], defaultPort: defaultPort(of: scheme)) {
        case .success(let parsed): authority = parsed
        case .failure(let refusal): return .failure(refusal)
        }
        let question = octets[authorityEnd..<end].firstIndex(of: UInt8(ascii: "?"))
        let path = encoded(octets[authorityEnd..<(question ?? end)], allowed: \.isPathOctet)
        let query = question.map { encoded(octets[($0 + 1)..<end], allowed: \.isQueryOctet) }
        let target = TargetURI(
            scheme: scheme,
            host: authority.host,
            port: authority.port,
            path: path.isEmpty ? "/" : path,
            query: query
        )
        guard isDecodable(target.path) else { return .failure(Refusal(code: .invalidPath)) }
        let length = start + authority.host.utf8.count + target.path.utf8.count + (target.query?.utf8.count ?? 0) + 7
        guard length <= maximumLength else { return .failure(Refusal(code: .tooLong)) }
        return .success(target)
    }

    /// Whether the path's escapes decode to UTF-8 without NUL.
    private static func isDecodable(_ path: String) -> Bool {
        var rest = path.utf8[...]
        guard rest.contains(UInt8(ascii: "%")) else { return true }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(rest.count)
        while let octet = rest.popFirst() {
            guard octet == UInt8(ascii: "%") else {
                decoded.append(octet)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue, high | low != 0 else {
                return false
            }
            decoded.append(high << 4 | low)
        }
        return String(validating: decoded, as: UTF8.self) != nil
    }

    static func scheme(_ octets: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        if octets.elementsEqual("https".utf8, by: { $0.asciiLowercased == $1 }) { return "https" }
        if octets.elementsEqual("http".utf8, by: { $0.asciiLowercased == $1 }) { return "http" }
        return nil
    }

    /// Whether a valid escape begins there.
    private static func isEscape(_ octets: Slice<UnsafeBufferPointer<UInt8>>, at index: Int) -> Bool {
        octets[index] == UInt8(ascii: "%") && octets.endIndex - index > 2 && octets[index + 1].isHexDigit
            && octets[index + 2].isHexDigit
    }

    /// Whether ``encoded(_:allowed:)`` changes nothing.
    private static func isEncoded(_ octets: Slice<UnsafeBufferPointer<UInt8>>, allowed: (UInt8) -> Bool) -> Bool {
        for index in octets.startIndex..<octets.endIndex where !allowed(octets[index]) && !isEscape(octets, at: index) {
            return false
        }
        return true
    }

    /// Percent-encodes what is not allowed; valid escapes stay as they are, in whatever case they came.
    private static func encoded(
        _ octets: Slice<UnsafeBufferPointer<UInt8>>,
        allowed: (UInt8) -> Bool
    ) -> String {
        // Nearly every URI needs no change: look first, so that those cost one copy.
        // A range of integers: `indices` of a slice are not specialised, and cost more than the parsing.
        let indices = octets.startIndex..<octets.endIndex
        var extra = 0
        for index in indices where !allowed(octets[index]) && !isEscape(octets, at: index) { extra += 2 }
        if extra == 0 { return String(decoding: octets, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: octets.count + extra) { buffer in
            var written = 0
            for index in indices {
                let octet = octets[index]
                if allowed(octet) || isEscape(octets, at: index) {
                    buffer[written] = octet
                    written += 1
                } else {
                    buffer[written] = UInt8(ascii: "%")
                    buffer[written + 1] = hexDigit(octet >> 4)
                    buffer[written + 2] = hexDigit(octet)
                    written += 3
                }
            }
            return written
        }
    }
}
