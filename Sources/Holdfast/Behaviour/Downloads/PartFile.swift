import HTTPCacheSemantics
import NIOCore
import NIOPosix
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The file in which a download grows: `<file>.part`, beside its destination, readable by its owner
/// alone, and one download's at a time.
///
/// All of it is done on NIO's thread pool: neither event loops nor cooperative threads wait for a
/// disk.
final class PartFile: Sendable {
    /// Bytes that are written at once.
    static let chunkSize = 256 << 10
    /// Bytes after which a part is synced, so that a failure of the power costs no more.
    static let syncDistance: Int64 = 8 << 20

    private let descriptor: Int32
    private let destination: DownloadDestination
    private let path: String
    private let recordPath: String
    private var newRecordPath: String { recordPath + ".new" }
    /// What is known of the part, where it can be gone on with.
    private let record = Mutex<DownloadRecord?>(nil)

    /// A record is a few hundred bytes; what is longer is none.
    private static let recordLimit = 64 << 10

    private init(_ descriptor: Int32, _ destination: DownloadDestination) {
        self.descriptor = descriptor
        self.destination = destination
        path = destination.part
        recordPath = path + ".json"
    }

    /// Opens and locks the part: two downloads into one file would make a third.
    private static func openLocked(_ destination: DownloadDestination) throws -> Int32 {
        let path = destination.part
        removeSecondName(path)
        let descriptor = openForWriting(path)
        guard descriptor >= 0 else { throw HoldfastError(file: path, errno, "be made") }
        let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
        let code = errno
        var (opened, present) = (stat(), stat())
        // Whoever had it may have removed it, or put it in its place, after it was opened here:
        // then it is no part any more.
        if isLocked, fstat(descriptor, &opened) == 0, stat(path, &present) == 0, opened.st_ino == present.st_ino {
            // One that an earlier download left may have been made otherwise.
            fchmod(descriptor, 0o600)
            return descriptor
        }
        close(descriptor)
        guard isLocked || code == EWOULDBLOCK else { throw HoldfastError(file: path, code, "be locked") }
        throw HoldfastError(
            code: .fileFailed,
            message: "Another download to '\(destination.path)' is under way. Wait for it, or choose another file."
        )
    }

    /// A process that ended while it put the part in its place may have left it there under both
    /// names: to write to it would be to write to what was whole.
    private static func removeSecondName(_ path: String) {
        var information = stat()
        if lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG, information.st_nlink > 1 {
            unlink(path)
        }
    }

    /// Lets others have it. The file itself may stay open for a moment longer, where a thread still
    /// knows it.
    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }

    /// Makes or finds the part.
    ///
    /// - Throws: ``HoldfastError`` with code `fileFailed`: the destination is taken, its folder is
    ///   missing or may not be written, or another download is under way.
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
                message: "'\(destination.path)' names a folder; a download needs the name of a file in it."
            )
        }
        var information = stat()
        if stat(destination.path, &information) == 0 {
            guard information.st_mode & S_IFMT == S_IFREG else {
                throw HoldfastError(
                    code: .fileFailed,
                    message: "'\(destination.path)' is no regular file, and is not replaced by a download."
                )
            }
            guard destination.overwrites else { throw HoldfastError(taken: destination.path) }
        }
        guard destination.createsFolders else { return }
        let folder = destination.folder
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw HoldfastError(
                code: .fileFailed,
                message: "The folder '\(folder)' for a download could not be made.",
                cause: error
            )
        }
    }

    /// What an earlier download of the same target left, where it can be gone on with.
    func resumable(_ target: TargetURI) async throws -> ResumablePart? {
        // Here, because the disk's thread knows no task.
        let boot = BootIdentity.current
        return try await Self.onDisk { [self] in
            let length = try length()
            guard length > 0, let data = FileManager.default.contents(atPath: recordPath),
                data.count <= Self.recordLimit,
                var record = try? JSONDecoder().decode(DownloadRecord.self, from: data),
                record.target == DownloadRecord.digest(target), length <= record.length ?? length
            else { return nil }
            let trusted = record.trusted(length, in: boot)
            guard trusted > 0 else { return nil }
            if trusted < length || record.boot != boot {
                // What follows may be anything. What is left was synced, and what comes is this
                // run's.
                try truncate(to: trusted)
                record.boot = boot
                record.synced = trusted
                try write(record)
            }
            self.record.withLock { [record] in $0 = record }
            return ResumablePart(record: record, length: trusted)
        }
    }

    /// Empties it, for content with this record.
    func begin(_ record: DownloadRecord?) async throws {
        try await Self.onDisk { [self] in
            // A record must never stand beside content that is not its own, nor after a failure of
            // the power.
            if try removeRecord() { syncFolder() }
            try truncate(to: 0)
            if let record { try write(record) }
            self.record.withLock { $0 = record }
        }
    }

    private func truncate(to length: Int64) throws {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw HoldfastError(file: path, errno, "be emptied") }
    }

    /// Puts a record in the place of the one before, in one step.
    ///
    /// Always by way of the same name, so that a process that is killed here leaves no more than
    /// the next one takes away.
    private func write(_ record: DownloadRecord) throws {
        let bytes: Data
        do { bytes = try JSONEncoder().encode(record) } catch {
            throw HoldfastError(
                code: .fileFailed,
                message: "'\(recordPath)', what is known of a download, could not be written.",
                cause: error
            )
        }
        let file = openForWriting(newRecordPath)
        guard file >= 0 else { throw HoldfastError(file: newRecordPath, errno, "be made") }
        defer { close(file) }
        guard ftruncate(file, 0) == 0 else { throw HoldfastError(file: newRecordPath, errno, "be emptied") }
        try bytes.withUnsafeBytes { try Self.write($0, to: file, named: newRecordPath, at: 0) }
        // What it says of the power must not be lost by it.
        guard record.synced == nil || fsync(file) == 0 else {
            throw HoldfastError(file: newRecordPath, errno, "be written to disk")
        }
        guard rename(newRecordPath, recordPath) == 0 else {
            throw HoldfastError(file: recordPath, errno, "be put in its place")
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

    /// Writes some bytes at an offset, and syncs what was written where that has become much.
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

    /// As ``write(_:at:)``, at once: for the last bytes of a download that was cancelled.
    func writeNow(_ buffer: ByteBuffer, at offset: Int64) throws {
        try buffer.withUnsafeReadableBytes { try Self.write($0, to: descriptor, named: path, at: offset) }
    }

    /// Puts it in the destination's place, whole, on disk, and in one step.
    func finish(length: Int64) async throws {
        try await Self.onDisk { [self] in
            let found = try self.length()
            guard found == length else {
                throw HoldfastError(
                    code: .fileFailed,
                    message: "'\(path)' has \(found) bytes and should have \(length): somebody else wrote to it."
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
            // Unlike a renaming, a link never takes the place of a file that came meanwhile.
            if link(path, destination.path) == 0 {
                unlink(path)
                return
            }
            let code = errno
            if code == EEXIST { throw HoldfastError(taken: destination.path) }
            // File systems without links have nothing as good.
            guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(code), access(destination.path, F_OK) != 0 else {
                throw HoldfastError(file: destination.path, code, "be put in its place")
            }
        }
        guard rename(path, destination.path) == 0 else {
            throw HoldfastError(file: destination.path, errno, "be put in its place")
        }
    }

    /// Ends a download that came to nothing: the part stays where a later one can go on with it,
    /// and is removed otherwise.
    ///
    /// It waits for no thread: the task may be cancelled. What cannot be removed is emptied by the
    /// next download.
    func end(after error: any Error) {
        let isTooLarge = (error as? HoldfastError)?.code == .bodyTooLarge
        let isKept = !isTooLarge && access(recordPath, F_OK) == 0 && (try? length()) != 0
        guard !isKept, (try? removeRecord()) != nil else { return }
        unlink(path)
    }

    private func length() throws -> Int64 {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw HoldfastError(file: path, errno, "be looked at") }
        return Int64(information.st_size)
    }

    /// - Returns: whether there was one.
    @discardableResult
    private func removeRecord() throws -> Bool {
        unlink(newRecordPath)
        if unlink(recordPath) == 0 { return true }
        guard errno == ENOENT else { throw HoldfastError(file: recordPath, errno, "be removed") }
        return false
    }

    /// Makes the name last as well as the content. A folder that cannot be synced has a file system
    /// that needs none.
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

    /// The folder that the file is in.
    fileprivate var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// Opens a file to be written by its owner, made where there is none, and for no child process. A
/// link in its place is not followed.
private func openForWriting(_ path: String) -> Int32 {
    open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
}

private func openFolder(_ path: String) -> Int32 {
    open(path, O_RDONLY | O_CLOEXEC)
}
