import Foundation

/// A folder that exists during one test. Its path is short, because that of a Unix socket may have
/// some 100 bytes.
enum ShortFolder {
    /// Makes one. The caller removes it.
    static func make() throws -> String {
        let path = "/tmp/hf-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        return path
    }

    static func with<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let path = try make()
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }
}
