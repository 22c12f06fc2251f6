package import Foundation

/// A folder that is removed with the last reference to it. Its path is short, because the address
/// of a Unix socket has little room.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter inMemory: whether the folder is in memory, if the machine allows it. For tests
    ///   that write much and keep nothing.
    package init(inMemory: Bool = false) throws {
        let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/hf-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
    }

    deinit { Self.remove(path) }

    /// Runs a body with a folder.
    package static func with<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        return try await body(URL(filePath: folder.path, directoryHint: .notDirectory))
    }

    /// A path in the folder at which nothing exists yet.
    package var store: String { path + "/store" }

    package static func remove(_ path: String) {
        for name in names(path) {
            let inner = path + "/" + name
            if unlink(inner) != 0 { remove(inner) }
        }
        rmdir(path)
    }

    package static func names(_ path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

package struct TestFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

package func readFile(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw TestFailure("open \(path): \(errno)") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    return bytes
}

package func writeFile(_ path: String, _ bytes: [UInt8], at offset: Int? = nil) throws {
    let descriptor = open(path, offset == nil ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw TestFailure("open \(path): \(errno)") }
    defer { close(descriptor) }
    guard pwrite(descriptor, bytes, bytes.count, off_t(offset ?? 0)) == bytes.count else {
        throw TestFailure("write \(path): \(errno)")
    }
}

/// Copies a store's files without the log's index, as a killed process or a restarted machine
/// leaves them.
package func copyFolder(_ from: String, to destination: String) throws {
    mkdir(destination, 0o700)
    for name in TemporaryFolder.names(from) where !name.hasSuffix("-shm") {
        try writeFile(destination + "/" + name, readFile(from + "/" + name))
    }
}
