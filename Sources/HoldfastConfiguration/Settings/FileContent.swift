import CacheRules
import Foundation

/// Reads the bytes of a file, up to a limit.
enum FileContent {
    static func read(_ path: String, limit: Int) -> Result<[UInt8], Refusal> {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            return .failure(Refusal("does not exist."))
        }
        guard !isFolder.boolValue else { return .failure(Refusal("is a folder. Name a file.")) }
        guard let file = FileHandle(forReadingAtPath: path) else {
            return .failure(Refusal("cannot be opened. Check its permissions."))
        }
        defer { try? file.close() }
        var bytes: [UInt8] = []
        do {
            // Read one byte more than is allowed, because devices and pipes have no length to check
            // first.
            while bytes.count <= limit, let data = try file.read(upToCount: limit + 1 - bytes.count), !data.isEmpty {
                bytes += data
            }
        } catch {
            return .failure(Refusal("cannot be read."))
        }
        guard bytes.count <= limit else { return .failure(Refusal("is too large. The limit is \(limit) bytes.")) }
        return .success(bytes)
    }
}
