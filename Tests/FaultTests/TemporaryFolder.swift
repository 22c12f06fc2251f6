#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A folder that is removed with its last reference. It is in memory if the machine allows it,
/// because these tests write much and keep nothing.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/holdfast-faults-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
    }

    deinit { Self.remove(path) }

    /// A path in the folder at which nothing exists yet.
    var store: String { path + "/store" }

    static func remove(_ path: String) {
        for name in names(path) {
            let inner = path + "/" + name
            if unlink(inner) != 0 { remove(inner) }
        }
        rmdir(path)
    }

    static func names(_ path: String) -> [String] {
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

    /// Copies a store's files without the log's index, as a restarted machine finds them.
    static func copy(_ from: String, to destination: String) throws {
        mkdir(destination, 0o700)
        for name in names(from) where !name.hasSuffix("-shm") {
            try writeFile(destination + "/" + name, readFile(from + "/" + name))
        }
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func readFile(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw TestFailure("open \(path): \(errno)") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    return bytes
}

func writeFile(_ path: String, _ bytes: [UInt8], at offset: Int? = nil) throws {
    let descriptor = open(path, offset == nil ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw TestFailure("open \(path): \(errno)") }
    defer { close(descriptor) }
    guard pwrite(descriptor, bytes, bytes.count, off_t(offset ?? 0)) == bytes.count else {
        throw TestFailure("write \(path): \(errno)")
    }
}
