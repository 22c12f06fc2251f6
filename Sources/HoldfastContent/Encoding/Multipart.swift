#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Fields and files combined into one content, as `multipart/form-data`. RFC 7578
///
/// ```swift
/// .multipart([
///     .text("At the harbour", name: "title"),
///     .file("/var/uploads/boat.jpg", name: "photo"),
/// ])
/// ```
///
/// Parts are sent in order. If all parts are in memory, the content is built in memory. If a part
/// is a file, the content is read from disk in blocks of 256 KiB while it is sent, and its length
/// is known in advance. If a file changes in the meantime, the request breaks off.
public struct Multipart: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// A field or a file.
    public struct Part: Sendable, Hashable {
        /// The source of the bytes.
        public enum Content: Sendable, Hashable {
            /// Bytes in memory.
            case data(Data)
            /// The file at this path. Its length is read when the request is built, and its bytes
            /// while the request is sent.
            case file(String)
        }

        /// The field's name.
        public var name: String
        /// The file name that is sent to the server; `nil` for a part that is not a file.
        public var fileName: String?
        /// The media type; `nil` for plain text.
        public var contentType: String?
        /// The content.
        public var content: Content

        /// Creates a part.
        public init(name: String, fileName: String? = nil, contentType: String? = nil, content: Content) {
            self.name = name
            self.fileName = fileName
            self.contentType = contentType
            self.content = content
        }

        /// Creates a field with text, as UTF-8.
        public static func text(_ text: String, name: String) -> Part {
            Part(name: name, content: .data(Data(text.utf8)))
        }

        /// Creates a file part from bytes. The default media type is based on the file name's
        /// extension.
        public static func data(_ data: Data, name: String, fileName: String, contentType: String? = nil) -> Part {
            Part(
                name: name,
                fileName: fileName,
                contentType: contentType ?? FileMediaTypes.type(of: fileName),
                content: .data(data)
            )
        }

        /// Creates a part from a file on disk. The default file name is the path's last component,
        /// and the default media type is based on its extension.
        public static func file(
            _ path: String,
            name: String,
            fileName: String? = nil,
            contentType: String? = nil
        ) -> Part {
            let fileName = fileName ?? path.split(separator: "/").last.map(String.init) ?? path
            return Part(
                name: name,
                fileName: fileName,
                contentType: contentType ?? FileMediaTypes.type(of: fileName),
                content: .file(path)
            )
        }
    }

    /// The parts in the order in which they are sent. There must be at least one.
    public var parts: [Part]
    /// The boundary between the parts: 1 to 70 letters, digits and `'()+_,-./:=?`. If it is `nil`,
    /// the boundary is a hash of the parts that does not occur in the content in memory, so equal
    /// parts produce equal content.
    ///
    /// The boundary must not occur in any part. If you specify a boundary that occurs in a part,
    /// encoding fails. If the boundary occurs in a file, the request breaks off before the bytes
    /// that complete the boundary, so the file's author cannot end the part and start another. RFC
    /// 2046 §5.1.1
    public var boundary: String?

    /// Creates content from parts, optionally with a given boundary.
    public init(_ parts: [Part], boundary: String? = nil) {
        self.parts = parts
        self.boundary = boundary
    }

    /// Creates content from parts.
    public init(arrayLiteral elements: Part...) {
        self.init(elements)
    }
}
