/// Reads `multipart/form-data` as a server would, by RFC 2046 §5.1.1 and RFC 7578 only. It shares
/// no code with the writer.
struct MultipartReader {
    struct Part: Equatable {
        var name: String?
        var fileName: String?
        var contentType: String?
        var content: [UInt8]
    }

    /// `nil` if the content is not closed, or if the fields of a part do not end.
    static func parts(of content: [UInt8], contentType: String) -> [Part]? {
        guard let start = contentType.range("boundary=") else { return nil }
        let boundary = contentType[start...].filter { $0 != "\"" }
        // The first delimiter has no line break before it.
        let whole = Array("\r\n".utf8) + content
        let delimiter = Array("\r\n--\(boundary)".utf8)
        var parts: [Part] = []
        var position = 0
        guard whole.starts(with: delimiter) else { return nil }
        while true {
            position += delimiter.count
            if whole[position...].starts(with: "--".utf8) {
                return whole[(position + 2)...].elementsEqual("\r\n".utf8) ? parts : nil
            }
            guard whole[position...].starts(with: "\r\n".utf8), let end = whole.index(of: delimiter, from: position)
            else { return nil }
            guard let head = whole.index(of: Array("\r\n\r\n".utf8), from: position), head < end else { return nil }
            var part = Part(content: Array(whole[(head + 4)..<end]))
            for line in String(decoding: whole[position..<head], as: UTF8.self).split(separator: "\r\n") {
                if let value = line.value(of: "content-type:") { part.contentType = value }
                guard let disposition = line.value(of: "content-disposition:") else { continue }
                guard disposition.hasPrefix("form-data; ") else { return nil }
                part.name = disposition.quoted(after: "; name=\"")
                part.fileName = disposition.quoted(after: "; filename=\"")
            }
            parts.append(part)
            position = end
        }
    }
}

extension [UInt8] {
    fileprivate func index(of bytes: [UInt8], from start: Int) -> Int? {
        guard count >= bytes.count + start else { return nil }
        return (start...(count - bytes.count)).first { self[$0] == bytes[0] && self[$0...].starts(with: bytes) }
    }
}

extension StringProtocol {
    fileprivate func range(_ text: String) -> Index? {
        indices.first { self[$0...].hasPrefix(text) }.map { index($0, offsetBy: text.count) }
    }

    fileprivate func value(of name: String) -> String? {
        guard lowercased().hasPrefix(name) else { return nil }
        return String(dropFirst(name.count).drop { $0 == " " })
    }

    fileprivate func quoted(after text: String) -> String? {
        range(text).map { String(self[$0...].prefix { $0 != "\"" }) }
    }
}
