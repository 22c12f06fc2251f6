/// The header fields of a form's part: RFC 7578 §4.2 to §4.8.
struct MultipartPartHead {
    /// The name of the form's field, unquoted but not percent-decoded.
    let name: String
    let filename: String?
    /// The content type as sent; `nil` means `text/plain` (§4.4).
    let contentType: String?

    /// Reads the lines of a part's head, without the empty line at its end.
    ///
    /// - Throws: ``MultipartError``.
    init(_ head: some Collection<UInt8>) throws {
        var disposition: ParameterizedValue?
        var contentType: String?
        for line in Self.lines(Array(head)) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(decoding: parts[0], as: UTF8.self).lowercased()
            guard parts.count == 2, !name.isEmpty, !name.contains(where: \.isWhitespace) else {
                throw MultipartError("a line of a part's head is not a header field")
            }
            switch name {
            case "content-disposition":
                guard disposition == nil else { throw MultipartError("a part has two Content-Dispositions") }
                disposition = ParameterizedValue(parts[1])
                if disposition == nil { throw MultipartError("a Content-Disposition is malformed") }
            case "content-type":
                guard contentType == nil, ParameterizedValue(parts[1])?.value.contains("/") == true else {
                    throw MultipartError("a part's Content-Type is malformed, or there are two")
                }
                contentType = String(decoding: parts[1], as: UTF8.self).trimmed
            case "content-transfer-encoding":
                // Deprecated (§4.7). The identity encodings have no effect.
                let coding = String(decoding: parts[1], as: UTF8.self).trimmed.lowercased()
                guard ["7bit", "8bit", "binary"].contains(coding) else {
                    throw MultipartError("a part has the transfer encoding '\(coding)'; forms have none")
                }
            default:
                // Other fields must be ignored (§4.8).
                break
            }
        }
        guard let disposition, disposition.value == "form-data", let name = disposition.parameters["name"] else {
            throw MultipartError("a part has no 'Content-Disposition: form-data' with a name")
        }
        guard disposition.parameters["filename*"] == nil else {
            throw MultipartError("'filename*' must not be used in forms (RFC 7578 §4.2)")
        }
        self.name = name
        filename = disposition.parameters["filename"]
        self.contentType = contentType
    }

    private static func lines(_ head: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = head.startIndex
        for index in head.indices where head[index] == 10 && index > start && head[index - 1] == 13 {
            lines.append(head[start..<index - 1])
            start = index + 1
        }
        if start < head.endIndex { lines.append(head[start...]) }
        return lines
    }
}

/// The error for an invalid multipart body.
struct MultipartError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
