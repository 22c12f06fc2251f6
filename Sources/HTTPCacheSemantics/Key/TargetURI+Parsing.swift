extension TargetURI {
    /// Parses an absolute URI.
    ///
    /// A path that contains `%00`, or escapes that do not decode to UTF-8 (`/%FF`), is rejected:
    /// AsyncHTTPClient gets the decoded path from Foundation, which returns an empty string, and
    /// would send `/` instead. In a query such escapes are harmless and stay.
    ///
    /// - Throws: ``TargetURIError`` in these cases:
    ///   - the scheme is not `http` or `https`;
    ///   - the host is missing or not ASCII;
    ///   - the URI has user information, a control character or an invalid port;
    ///   - the transport cannot send the path;
    ///   - the URI is longer than 65,535 bytes.
    public init(_ text: String) throws {
        var copy = text
        switch copy.withUTF8({ Self.parse($0) }) {
        case .success(let target): self = target
        case .failure(let fault): throw TargetURIError(fault.code, text: text)
        }
    }

    /// Whether ``init(_:)`` accepts ``uri`` unchanged.
    package var parsesUnchanged: Bool {
        var (path, query) = (path, query)
        let isPathAsParsed = path.withUTF8 {
            $0.first == UInt8(ascii: "/") && Self.isEncoded($0[...], allowed: \.isPathByte)
        }
        guard isPathAsParsed, Self.isDecodable(path) else { return false }
        guard query?.withUTF8({ Self.isEncoded($0[...], allowed: \.isQueryByte) }) ?? true else { return false }
        // The separators between the parts take at most 10 bytes, including the port.
        return 10 + scheme.utf8.count + host.utf8.count + path.utf8.count + (query?.utf8.count ?? 0)
            <= Self.maximumLength
    }

    /// The reason for a failure, before its message is created.
    struct Fault: Error {
        var code: TargetURIError.Code
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<TargetURI, Fault> {
        guard bytes.count <= maximumLength else { return .failure(Fault(code: .tooLong)) }
        guard !bytes.contains(where: \.isControl) else { return .failure(Fault(code: .controlCharacter)) }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let scheme = Self.scheme(bytes[..<colon]) else {
            return .failure(Fault(code: .unsupportedScheme))
        }
        let slash = UInt8(ascii: "/")
        guard bytes.count > colon + 2, bytes[colon + 1] == slash, bytes[colon + 2] == slash else {
            return .failure(Fault(code: .missingHost))
        }
        let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let start = colon + 3
        let authorityEnd =
            bytes[start..<end].firstIndex(where: { $0 == slash || $0 == UInt8(ascii: "?") }) ?? end
        let authority: Authority
        switch Authority.parse(bytes[start..<authorityEnd], defaultPort: defaultPort(of: scheme)) {
        case .success(let parsed): authority = parsed
        case .failure(let fault): return .failure(fault)
        }
        let question = bytes[authorityEnd..<end].firstIndex(of: UInt8(ascii: "?"))
        let path = encoded(bytes[authorityEnd..<(question ?? end)], allowed: \.isPathByte)
        let query = question.map { encoded(bytes[($0 + 1)..<end], allowed: \.isQueryByte) }
        let target = TargetURI(
            scheme: scheme,
            host: authority.host,
            port: authority.port,
            path: path.isEmpty ? "/" : path,
            query: query
        )
        guard isDecodable(target.path) else { return .failure(Fault(code: .invalidPath)) }
        let length = start + authority.host.utf8.count + target.path.utf8.count + (target.query?.utf8.count ?? 0) + 7
        guard length <= maximumLength else { return .failure(Fault(code: .tooLong)) }
        return .success(target)
    }

    /// Returns whether the path's escapes decode to UTF-8 without NUL.
    private static func isDecodable(_ path: String) -> Bool {
        var rest = path.utf8[...]
        guard rest.contains(UInt8(ascii: "%")) else { return true }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue, high | low != 0 else {
                return false
            }
            decoded.append(high << 4 | low)
        }
        return String(validating: decoded, as: UTF8.self) != nil
    }

    static func scheme(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        if bytes.elementsEqual("https".utf8, by: { $0.asciiLowercased == $1 }) { return "https" }
        if bytes.elementsEqual("http".utf8, by: { $0.asciiLowercased == $1 }) { return "http" }
        return nil
    }

    /// Returns whether a valid escape begins at the index.
    private static func isEscape(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "%") && bytes.endIndex - index > 2 && bytes[index + 1].isHexDigit
            && bytes[index + 2].isHexDigit
    }

    /// Returns whether ``encoded(_:allowed:)`` would return the bytes unchanged.
    private static func isEncoded(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, allowed: (UInt8) -> Bool) -> Bool {
        for index in bytes.startIndex..<bytes.endIndex where !allowed(bytes[index]) && !isEscape(bytes, at: index) {
            return false
        }
        return true
    }

    /// Percent-encodes the bytes that are not allowed. Valid escapes stay unchanged, in either
    /// case.
    private static func encoded(
        _ bytes: Slice<UnsafeBufferPointer<UInt8>>,
        allowed: (UInt8) -> Bool
    ) -> String {
        // Nearly every URI needs no change, so check first and make only one copy. Use a range of
        // integers: a slice's `indices` are not specialized and cost more than parsing.
        let indices = bytes.startIndex..<bytes.endIndex
        var extra = 0
        for index in indices where !allowed(bytes[index]) && !isEscape(bytes, at: index) { extra += 2 }
        if extra == 0 { return String(decoding: bytes, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: bytes.count + extra) { buffer in
            var written = 0
            for index in indices {
                let byte = bytes[index]
                if allowed(byte) || isEscape(bytes, at: index) {
                    buffer[written] = byte
                    written += 1
                } else {
                    buffer[written] = UInt8(ascii: "%")
                    buffer[written + 1] = (byte >> 4).hexDigit
                    buffer[written + 2] = byte.hexDigit
                    written += 3
                }
            }
            return written
        }
    }
}
