import HTTPCacheSemantics
import HoldfastContent
import LibC
import NIOCore
import NIOPosix
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file that a download writes: `<file>.part`, next to its destination. Only its owner can read
/// it, and only one download at a time writes to it.
///
/// File operations run on NIO's thread pool, so neither event loops nor cooperative threads wait
/// for a disk. The exception is the end of a failed download, which must not suspend.
final class PartFile: Sendable {
    /// The number of bytes to collect before each write.
    static let chunkSize = 256 << 10
    /// The number of bytes between syncs. A loss of power loses about this many.
    static let syncDistance: Int64 = 8 << 20

    private let descriptor: Int32
    private let destination: DownloadDestination
    private let path: String
    private let recordPath: String
    private var newRecordPath: String { recordPath + ".new" }
    /// The record of the part, if it can be resumed.
    private let record = Mutex<DownloadRecord?>(nil)

    /// The maximum number of bytes in a record. A record has a few hundred; a longer file is not
    /// one.
    private static let recordLimit = 64 << 10

    private init(_ descriptor: Int32, _ destination: DownloadDestination) {
        self.descriptor = descriptor
        self.destination = destination
        path = destination.part
        recordPath = path + ".json"
    }

    /// Opens and locks the part. Without the lock, two downloads to one file would mix their
    /// content.
    private static func openLocked(_ destination: DownloadDestination) throws -> Int32 {
        let path = destination.part
        removeSecondName(path)
        let descriptor = openForWriting(path)
        guard descriptor >= 0 else { throw HoldfastError(file: path, errno, "be created") }
        let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
        let code = errno
        var (opened, present) = (stat(), stat())
        // The previous owner may have removed the file, or moved it into place, after it was opened
        // here. In that case, this file is no longer the part.
        if isLocked, fstat(descriptor, &opened) == 0, stat(path, &present) == 0, opened.st_ino == present.st_ino {
            // An earlier download may have left it with another mode.
            fchmod(descriptor, 0o600)
            return descriptor
        }
        close(descriptor)
        guard isLocked || code == EWOULDBLOCK else { throw HoldfastError(file: path, code, "be locked") }
        throw HoldfastError(
            code: .fileFailed,
            message: "Another download to '\(destination.path)' is in progress. Wait for it, or choose another file."
        )
    }

    /// Removes a part that has a second name. A process that was interrupted while moving the part
    /// into place may have left both names. Writing to the part would overwrite the complete file.
    private static func removeSecondName(_ path: String) {
        var information = stat()
        if lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG, information.st_nlink > 1 {
            unlink(path)
        }
    }

    /// Unlocks the part for other downloads. The file may stay open a moment longer if a thread
    /// still uses it.
    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }

    /// Creates or opens the part.
    ///
    /// - Throws: `HoldfastError` with code `fileFailed` if the destination exists, if its folder
    ///   is missing or cannot be written, or if another download is in progress.
    static func open(_ destination: DownloadDestination) async throws -> PartFile {
        try await onDisk {
            try checkPlace(destination)
            return PartFile(try openLocked(destination), destination)
        }
    }

    private static func checkPlace(_ destination: DownloadDestination) throws {
        guard !destination.path.hasSuffix("/") else {
            throw HoldfastError(
                code: .fileFailed,
                message: "'\(destination.path)' is a folder. Name a file inside it."
            )
        }
        var information = stat()
        if stat(destination.path, &information) == 0 {
            guard information.st_mode & S_IFMT == S_IFREG else {
                throw HoldfastError(
                    code: .fileFailed,
                    message:
                        "'\(destination.path)' is not a regular file, so a download does not replace it. Choose another file."
                )
            }
            guard destination.overwrites else { throw HoldfastError(existing: destination.path) }
        }
        guard destination.createsFolders else { return }
        let folder = destination.folder
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw HoldfastError(
                code: .fileFailed,
                message: "The folder '\(folder)' for a download could not be created.",
                cause: error
            )
        }
    }

    /// Returns the part of an earlier download of the same target, if it can be resumed.
    func resumable(_ target: TargetURI) async throws -> ResumablePart? {
        // Read the value here, because threads of the pool have no task-local values.
        let boot = BootIdentity.current
        return try await Self.onDisk { [self] in
            let length = try length()
            guard length > 0, let data = FileManager.default.contents(atPath: recordPath),
                data.count <= Self.recordLimit,
                var record = try? JSONDecoder().decode(DownloadRecord.self, from: data),
                record.target == DownloadRecord.digest(target),
                record.length.map({ StatedLength(clamping: length) <= $0 }) ?? true
            else { return nil }
            let trusted = record.trusted(length, in: boot)
            guard trusted > 0 else { return nil }
            if trusted < length || record.boot != boot {
                // The bytes after the trusted part may be anything. The trusted part was synced,
                // and new content belongs to the current boot.
                try truncate(to: trusted)
                record.boot = boot
                record.synced = trusted
                try write(record)
            }
            self.record.withLock { [record] in $0 = record }
            return ResumablePart(record: record, length: trusted)
        }
    }

    /// Empties the part and sets its record, for new content.
    func begin(_ record: DownloadRecord?) async throws {
        try await Self.onDisk { [self] in
            // A record must never exist next to content that belongs to another record, not even
            // after a loss of power.
            if try removeRecord() { syncFolder() }
            try truncate(to: 0)
            if let record { try write(record) }
            self.record.withLock { $0 = record }
        }
    }

    private func truncate(to length: Int64) throws {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw HoldfastError(file: path, errno, "be emptied") }
    }

    /// Replaces the record atomically.
    ///
    /// The temporary file always has the same name. If the process is killed here, the next
    /// download removes the file.
    private func write(_ record: DownloadRecord) throws {
        let bytes: Data
        do { bytes = try JSONEncoder().encode(record) } catch {
            throw HoldfastError(
                code: .fileFailed,
                message: "'\(recordPath)', the record of a download, could not be written.",
                cause: error
            )
        }
        let file = openForWriting(newRecordPath)
        guard file >= 0 else { throw HoldfastError(file: newRecordPath, errno, "be created") }
        defer { close(file) }
        guard ftruncate(file, 0) == 0 else { throw HoldfastError(file: newRecordPath, errno, "be emptied") }
        try bytes.withUnsafeBytes { try Self.write($0, to: file, named: newRecordPath, at: 0) }
        // The record states what survives a loss of power, so it must survive, too.
        guard record.synced == nil || fsync(file) == 0 else {
            throw HoldfastError(file: newRecordPath, errno, "be written to disk")
        }
        guard rename(newRecordPath, recordPath) == 0 else {
            throw HoldfastError(file: recordPath, errno, "be moved into place")
        }
        if record.synced != nil { syncFolder() }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, named path: String, at offset: Int64)
        throws
    {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = pwrite(file, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw HoldfastError(file: path, count < 0 ? errno : ENOSPC, "be written") }
            done += count
        }
    }

    /// Writes bytes at an offset. Syncs the file if enough was written since the last sync.
    func write(_ buffer: ByteBuffer, at offset: Int64) async throws {
        try await Self.onDisk { [self] in
            try writeNow(buffer, at: offset)
            try synchronize(upTo: offset + Int64(buffer.readableBytes))
        }
    }

    private func synchronize(upTo length: Int64) throws {
        guard var record = record.withLock(\.self), length - (record.synced ?? 0) >= Self.syncDistance else { return }
        guard fsync(descriptor) == 0 else { throw HoldfastError(file: path, errno, "be written to disk") }
        record.synced = length
        try write(record)
        self.record.withLock { $0 = record }
    }

    /// Does the same as ``write(_:at:)`` without suspending: for the last bytes of a canceled
    /// download.
    func writeNow(_ buffer: ByteBuffer, at offset: Int64) throws {
        try buffer.withUnsafeReadableBytes { try Self.write($0, to: descriptor, named: path, at: offset) }
    }

    /// Syncs the complete file and moves it to the destination atomically.
    func finish(length: Int64) async throws {
        try await Self.onDisk { [self] in
            let found = try self.length()
            guard found == length else {
                throw HoldfastError(
                    code: .fileFailed,
                    message: "'\(path)' has \(found) bytes instead of \(length): another program wrote to it."
                )
            }
            guard fsync(descriptor) == 0 else { throw HoldfastError(file: path, errno, "be written to disk") }
            try moveIntoPlace()
            try removeRecord()
            syncFolder()
        }
    }

    private func moveIntoPlace() throws {
        if !destination.overwrites {
            // Unlike a rename, a link never replaces a file that was created in the meantime.
            if link(path, destination.path) == 0 {
                unlink(path)
                return
            }
            let code = errno
            if code == EEXIST { throw HoldfastError(existing: destination.path) }
            // Some file systems have no links, and no other operation has the same guarantee.
            guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(code), access(destination.path, F_OK) != 0 else {
                throw HoldfastError(file: destination.path, code, "be moved into place")
            }
        }
        guard rename(path, destination.path) == 0 else {
            throw HoldfastError(file: destination.path, errno, "be moved into place")
        }
    }

    /// Ends a failed download. The part stays if a later download can resume it, and is removed
    /// otherwise.
    ///
    /// This does not suspend, because the task may be canceled. If the part cannot be removed, the
    /// next download empties it.
    func end(after error: any Error) {
        let isTooLarge = (error as? HoldfastError)?.code == .bodyTooLarge
        let isKept = !isTooLarge && access(recordPath, F_OK) == 0 && (try? length()) != 0
        guard !isKept, (try? removeRecord()) != nil else { return }
        unlink(path)
    }

    private func length() throws -> Int64 {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw HoldfastError(file: path, errno, "be inspected") }
        return Int64(information.st_size)
    }

    /// - Returns: whether a record existed.
    @discardableResult
    private func removeRecord() throws -> Bool {
        unlink(newRecordPath)
        if unlink(recordPath) == 0 { return true }
        guard errno == ENOENT else { throw HoldfastError(file: recordPath, errno, "be removed") }
        return false
    }

    /// Syncs the folder, so that the file's name survives a loss of power along with its content. A
    /// folder that cannot be synced is ignored: its file system does not need it.
    private func syncFolder() {
        let folder = openFolder(destination.folder)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private static func onDisk<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await NIOThreadPool.singleton.runIfActive(body)
    }
}

extension DownloadDestination {
    fileprivate var part: String { path + ".part" }

    /// The folder that contains the file.
    fileprivate var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// Opens a file for writing, or creates it. Only its owner can access it, and child processes do
/// not inherit the descriptor. A symbolic link at this path is not followed.
private func openForWriting(_ path: String) -> Int32 {
    open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
}

private func openFolder(_ path: String) -> Int32 {
    open(path, O_RDONLY | O_CLOEXEC)
}
