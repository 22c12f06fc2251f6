import Crypto
package import HTTPCache
import HTTPCacheSemantics
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Multipart {
    /// Encodes the parts as content, and returns the content and its media type.
    ///
    /// - Throws: ``HoldfastError`` with one of these codes:
    ///   - `parametersMissing` if there are no parts
    ///   - `encodingFailed` if a file cannot be read, a media type contains a control character, or
    ///     a boundary is invalid or occurs in a part
    package func encoded() throws -> (body: RequestBody, contentType: String) {
        guard !parts.isEmpty else {
            throw HoldfastError(
                code: .parametersMissing,
                message: "The multipart content has no parts; it needs at least one (RFC 2046 §5.1.1)."
            )
        }
        let pieces = try parts.map(Piece.init)
        let boundary = try self.boundary.map { try checked($0, pieces) } ?? unusedBoundary(pieces)
        // The search omits the line break before the delimiter, because a file may end with a line
        // break. It therefore finds every text that could be read as a delimiter.
        let delimiter = Array("--\(boundary)".utf8)
        var body: [BodyStream.Part] = []
        var text: [UInt8] = []
        var length: Int64 = 0
        for piece in pieces {
            text += delimiter + Array("\r\n".utf8) + piece.head
            switch piece.content {
            case .data(let data): text += data
            case .file(let file):
                body += [.buffer(text), .stream(file.body(excluding: delimiter))]
                length += Int64(text.count) + file.state.length
                text = []
            }
            text += Array("\r\n".utf8)
        }
        text += delimiter + Array("--\r\n".utf8)
        let contentType = "multipart/form-data; boundary=\(boundary.isToken ? boundary : "\"\(boundary)\"")"
        guard !body.isEmpty else { return (.buffer(ByteBuffer(bytes: text)), contentType) }
        body.append(.buffer(text))
        return (.stream(.concatenating(body, length: StatedLength(clamping: length + Int64(text.count)))), contentType)
    }

    /// An encoded part.
    private struct Piece {
        enum Content {
            case data(Data)
            case file(FileContent)
        }

        /// The part's fields, and the empty line that follows them.
        let head: [UInt8]
        let content: Content

        init(_ part: Part) throws {
            var lines = "Content-Disposition: form-data; name=\"\(part.name.escapedForDisposition)\""
            if let fileName = part.fileName { lines += "; filename=\"\(fileName.escapedForDisposition)\"" }
            if let type = part.contentType {
                guard !type.utf8.contains(where: \.isControl) else {
                    throw HoldfastError(
                        code: .encodingFailed,
                        message:
                            "The media type of the part '\(part.name.escapedForDisposition)' contains a control character. Use one such as 'image/png'."
                    )
                }
                lines += "\r\nContent-Type: \(type)"
            }
            head = Array((lines + "\r\n\r\n").utf8)
            switch part.content {
            case .data(let data): content = .data(data)
            case .file(let path): content = .file(try FileContent(path: path))
            }
        }

        func holds(_ text: [UInt8]) -> Bool {
            var search = ContentSearch(for: text)
            if search.finds(in: ByteBuffer(bytes: head)) { return true }
            guard case .data(let data) = content else { return false }
            search = ContentSearch(for: text)
            return search.finds(in: ByteBuffer(bytes: data))
        }
    }

    private func checked(_ boundary: String, _ pieces: [Piece]) throws -> String {
        guard 1...70 ~= boundary.utf8.count, boundary.utf8.allSatisfy(\.isBoundaryByte) else {
            throw HoldfastError(
                code: .encodingFailed,
                message:
                    "The boundary of the multipart content is not valid: it must have 1 to 70 letters, digits and '()+_,-./:=? (RFC 2046 §5.1.1)."
            )
        }
        guard !pieces.contains(where: { $0.holds(Array("--\(boundary)".utf8)) }) else {
            throw HoldfastError(
                code: .encodingFailed,
                message:
                    "The boundary of the multipart content occurs in one of its parts. Choose another boundary, or omit it."
            )
        }
        return boundary
    }

    /// Returns a hash of the parts that does not occur in them. For a file, the hash covers the
    /// length but not the bytes.
    private func unusedBoundary(_ pieces: [Piece]) -> String {
        var hash = SHA256()
        for piece in pieces {
            hash.update(data: piece.head)
            switch piece.content {
            case .data(let data):
                hash.update(data: Array("\(data.count):".utf8))
                hash.update(data: data)
            case .file(let file): hash.update(data: Array("file \(file.state.length):".utf8))
            }
        }
        while true {
            let boundary = "holdfast-\(Array(hash.finalize().prefix(16)).hexadecimal)"
            if !pieces.contains(where: { $0.holds(Array("--\(boundary)".utf8)) }) { return boundary }
            // The part contains this boundary, so its author may have predicted it. Make the next
            // boundary depend on it too.
            hash.update(data: Array(boundary.utf8))
        }
    }
}

extension String {
    /// The name of a field or file, escaped as browsers do it: UTF-8, with percent-encoding of the
    /// bytes that would end the quotes or the line. RFC 7578 §4.2, WHATWG HTML §4.10.21.8
    fileprivate var escapedForDisposition: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether the text can be a parameter's value without quotes. RFC 9110 §5.6.2
    fileprivate var isToken: Bool {
        utf8.allSatisfy { $0.isAlphanumeric || "'+_-.".utf8.contains($0) }
    }
}

extension UInt8 {
    /// Whether this is a `bcharsnospace` byte. Spaces are excluded, because a boundary must not end
    /// with a space. RFC 2046 §5.1.1
    fileprivate var isBoundaryByte: Bool { isAlphanumeric || "'()+_,-./:=?".utf8.contains(self) }
}
