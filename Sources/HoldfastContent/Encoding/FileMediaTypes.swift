/// Media types by file extension, for the types that APIs commonly accept. For other types, the
/// caller specifies the media type.
package enum FileMediaTypes {
    private static let types = [
        "avif": "image/avif", "bmp": "image/bmp", "css": "text/css", "csv": "text/csv", "gif": "image/gif",
        "gz": "application/gzip", "heic": "image/heic", "htm": "text/html", "html": "text/html",
        "ico": "image/vnd.microsoft.icon",
        "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
        "json": "application/json", "m4a": "audio/mp4", "md": "text/markdown", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "ogg": "audio/ogg", "pdf": "application/pdf", "png": "image/png",
        "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
        "txt": "text/plain", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
    ]

    /// Returns the media type that a file's name or path implies; `application/octet-stream` if
    /// the extension is unknown. RFC 2046 §4.5.1
    package static func type(of name: String) -> String {
        let file = name.utf8.split(separator: UInt8(ascii: "/")).last ?? name.utf8[...]
        guard let dot = file.lastIndex(of: UInt8(ascii: ".")) else { return "application/octet-stream" }
        let ending = String(Substring(file[file.index(after: dot)...])).lowercased()
        return types[ending] ?? "application/octet-stream"
    }
}
