import CommandLineSupport
import Foundation
import LibC
import StoreFiles

/// The temporary folder of one run, which the command's environment names. It holds no secret
/// except the proxy's password, and is removed when the run ends. Folders of killed runs are
/// removed by the next one.
final class RunFolder: Sendable {
    private static let prefix = "holdfast-run-"
    /// The maximum number of entries of the folder of temporary files that are looked at.
    private static let scanLimit = 10_000

    let path: String
    /// Locked as long as the run lasts.
    private let lock: CInt

    /// - Throws: `CommandFailure`
    init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        Self.removeAbandoned(in: parent)
        var template = Array((parent + "/" + Self.prefix + "XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure(
                "No folder can be created in '\(parent)': \(Self.error). Set 'TMPDIR' to another folder."
            )
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        lock = open(path + "/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw CommandFailure("The file '\(path)/lock' cannot be locked: \(Self.error).")
        }
    }

    deinit { close(lock) }

    /// Writes a file that only this user can read, and, if `isPublic`, the users that root's
    /// processes change to, such as apt's.
    ///
    /// - Returns: its path.
    /// - Throws: `CommandFailure`
    func write(_ name: String, _ bytes: [UInt8], isPublic: Bool = false) throws -> String {
        let file = path + "/" + name
        let isShared = isPublic && geteuid() == 0
        if isShared { chmod(path, 0o711) }
        let descriptor = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandFailure("The file '\(file)' cannot be created: \(Self.error).") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: Data(bytes))
            try handle.close()
        } catch {
            throw CommandFailure("The file '\(file)' cannot be written: \(error.localizedDescription)")
        }
        if isShared { chmod(file, 0o644) }
        return file
    }

    /// Removes the folder.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Removes the folders of this user's runs that no process has locked.
    private static func removeAbandoned(in parent: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names.prefix(scanLimit) where name.hasPrefix(prefix) {
            let folder = parent + "/" + name
            guard let status = try? FileStatus(path: folder, followsLink: false), status.isFolder,
                status.owner == geteuid()
            else { continue }
            let lock = open(folder + "/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            // A folder without a lock may have been created a moment ago.
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: folder) }
            close(lock)
        }
    }

    private static var error: String { String(cString: strerror(errno)) }
}
