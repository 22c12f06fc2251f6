#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Fields and files in one content, as `multipart/form-data`. RFC 7578
///
/// ```swift
/// .multipart([
///     .text("At the harbour", name: "title"),
///     .file("/var/uploads/boat.jpg", name: "photo"),
/// ])
/// ```
///
/// Parts are sent in order. Content with all parts in memory is built in memory. Content with a
/// file is read from disk while it is sent, 256 KiB at a time, and its length is known in advance.
/// If a file changes meanwhile, the request breaks off.
public struct Multipart: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// One field or file.
    public struct Part: Sendable, Hashable {
        /// The place of the bytes.
        public enum Content: Sendable, Hashable {
            /// In memory.
            case data(Data)
            /// In the file with this path. Its length is read when the request is made, and its
            /// bytes while it is sent.
            case file(String)
        }

        /// The field's name.
        public var name: String
        /// The file name that is sent to the server; `nil` for a part that is not a file.
        public var fileName: String?
        /// The media type; `nil` for plain text.
        public var contentType: String?
        /// See ``Content``.
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

        /// Creates a file from bytes. The default media type follows from the file name's
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
        /// and the default media type follows from its extension.
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

    /// The parts in the order in which they are sent; at least one.
    public var parts: [Part]
    /// The boundary between the parts: 1 to 70 letters, digits and `'()+_,-./:=?`. With `nil` it is
    /// a hash of the parts that does not occur in memory content, so equal parts are equal content.
    ///
    /// It must occur in no part. A given boundary that does is an error. If it occurs in a file,
    /// the request breaks off before the bytes that complete it, so the file's author cannot end
    /// the part and begin another. RFC 2046 §5.1.1
    public var boundary: String?

    /// Creates content of parts, with a certain boundary if needed.
    public init(_ parts: [Part], boundary: String? = nil) {
        self.parts = parts
        self.boundary = boundary
    }

    /// Creates content of parts.
    public init(arrayLiteral elements: Part...) {
        self.init(elements)
    }
}
