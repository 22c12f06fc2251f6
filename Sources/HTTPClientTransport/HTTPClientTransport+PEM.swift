import HTTPCache
import LibC

extension HTTPClientTransport {
    /// Certificates or a private key in PEM format (RFC 7468).
    ///
    /// Its description shows the path, but never the content.
    public enum PEM: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The path of a file of at most 1 MiB.
        case file(String)
        /// The text itself.
        case text(String)

        /// The path of the file in quotes, or a placeholder for content.
        public var description: String {
            switch self {
            case .file(let path): Self.isContent(path) ? "PEM text as a path" : "'\(path)'"
            case .text: "PEM text"
            }
        }

        /// A mirror without the content.
        public var customMirror: Mirror { Mirror(self, children: [:]) }
    }
}

extension HTTPClientTransport.PEM {
    /// The maximum number of bytes in a file: 1 MiB.
    private static let limit = 1 << 20

    /// Returns whether a path is really a file's content, passed by mistake, which must not be
    /// shown.
    private static func isContent(_ path: String) -> Bool { path.contains("-----BEGIN") }

    /// Returns the bytes. There is at least one.
    ///
    /// - Parameter role: the name of the parameter, for the message.
    /// - Throws: `TransportError` with code `tls`.
    func bytes(for role: String) throws(TransportError) -> [UInt8] {
        let bytes: [UInt8]
        switch self {
        case .text(let text): bytes = Array(text.utf8)
        case .file(let path):
            guard !Self.isContent(path) else {
                throw refusal(role, "is not a path. Pass the text as '.text'.")
            }
            bytes = try read(path, for: role)
        }
        guard !bytes.isEmpty else { throw refusal(role, "is empty.") }
        return bytes
    }

    private func read(_ path: String, for role: String) throws(TransportError) -> [UInt8] {
        guard let file = fopen(path, "r") else { throw refusal(role, unreadable(errno)) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: Self.limit + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw refusal(role, unreadable(errno)) }
        guard count <= Self.limit else { throw refusal(role, "is too large. The limit is \(Self.limit) bytes.") }
        return Array(bytes.prefix(count))
    }

    private func unreadable(_ code: CInt) -> String {
        "cannot be read: \(String(cString: strerror(code))). Name a readable PEM file."
    }

    /// Returns the error for PEM content that cannot be used.
    func refusal(_ role: String, _ reason: String) -> TransportError {
        TransportError(code: .tls, message: "\(self) (\(role)) \(reason)")
    }
}
