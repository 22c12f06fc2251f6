#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Fields and files in one content: `multipart/form-data`. RFC 7578
///
/// ```swift
/// .multipart([
///     .text("At the harbour", name: "title"),
///     .file("/var/uploads/boat.jpg", name: "photo"),
/// ])
/// ```
///
/// Parts are sent in their order. Content whose parts are all in memory is built there; as soon as
/// one is a file, it is read from disk while it is sent, 256 KiB at a time, and its length is known
/// before. A file that is changed meanwhile breaks the request off.
public struct Multipart: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// One field or file.
    public struct Part: Sendable, Hashable {
        /// Where the bytes are.
        public enum Content: Sendable, Hashable {
            /// In memory.
            case data(Data)
            /// In the file with this path, which is looked at when the request is made and read
            /// while it is sent.
            case file(String)
        }

        /// The field's name.
        public var name: String
        /// The name under which the server gets to know a file; `nil` for what is none.
        public var fileName: String?
        /// The media type; `nil` for plain text.
        public var contentType: String?
        /// See ``Content``.
        public var content: Content

        /// A part.
        public init(name: String, fileName: String? = nil, contentType: String? = nil, content: Content) {
            self.name = name
            self.fileName = fileName
            self.contentType = contentType
            self.content = content
        }

        /// A field's text, as UTF-8.
        public static func text(_ text: String, name: String) -> Part {
            Part(name: name, content: .data(Data(text.utf8)))
        }

        /// Bytes as a file. Without a media type it is the one of the file name's ending.
        public static func data(_ data: Data, name: String, fileName: String, contentType: String? = nil) -> Part {
            Part(
                name: name,
                fileName: fileName,
                contentType: contentType ?? FileMediaTypes.type(of: fileName),
                content: .data(data)
            )
        }

        /// A file on disk. Without a file name it is the path's last component, without a media
        /// type the one of its ending.
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

    /// In the order in which they are sent; at least one.
    public var parts: [Part]
    /// What stands between the parts: 1 to 70 letters, digits and `'()+_,-./:=?`. `nil`: a hash of
    /// the parts, so that the same parts are the same content, other than any bytes in memory.
    ///
    /// It occurs in no part: one given that does is an error, and where it turns up in a file the
    /// request breaks off before the bytes that complete it, so that whoever wrote the file cannot
    /// end its part and begin one of their own. RFC 2046 §5.1.1
    public var boundary: String?

    /// Parts, and a boundary where it must be a certain one.
    public init(_ parts: [Part], boundary: String? = nil) {
        self.parts = parts
        self.boundary = boundary
    }

    /// Parts.
    public init(arrayLiteral elements: Part...) {
        self.init(elements)
    }
}
