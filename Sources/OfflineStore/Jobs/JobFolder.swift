package import HTTPCacheOperations
import LibC
import StoreFiles

/// The folder of a store's jobs: `NAME.job` is a job's file, and `NAME.recording` marks a recording
/// in progress.
///
/// Only the process that has the store open for writing changes it. A job's file is replaced
/// atomically. The mark of a recording names the partitions of which at most one is a job's, so
/// that the responses in the others can be removed if the process was killed.
package struct JobFolder: Sendable {
    private let folder: StoreFolder
    private static let jobEnding = ".job"
    private static let markEnding = ".recording"
    /// The bytes that are read at a time.
    private static let pieceLength = 64 << 10

    /// - Parameter store: the path of the store.
    package init(store: String) { folder = StoreFolder(path: StoreFolder(path: store).jobsPath) }

    private func path(of name: JobName) -> String { "\(folder.path)/\(name)\(Self.jobEnding)" }
    private func path(ofMark name: JobName) -> String { "\(folder.path)/\(name)\(Self.markEnding)" }

    /// The names of the jobs, sorted.
    ///
    /// - Throws: ``StoreError``
    package var names: [JobName] {
        get throws { try names(ending: Self.jobEnding) }
    }

    /// The names of the recordings that are in progress, or were when their process ended.
    var marked: [JobName] {
        get throws { try names(ending: Self.markEnding) }
    }

    private func names(ending: String) throws -> [JobName] {
        let files: [String]
        do {
            files = try namesInFolder(folder.path)
        } catch let failure as SystemFailure {
            if failure.isMissing { return [] }
            throw failure.storeError()
        }
        return files.filter { $0.hasSuffix(ending) }.compactMap { JobName(String($0.dropLast(ending.count))) }.sorted()
    }

    /// Reads a job's file in pieces.
    ///
    /// - Parameter take: called with each line.
    /// - Returns: whether there is such a job.
    /// - Throws: ``StoreError``, ``JobFile/Refusal``, or an error of `take`.
    @discardableResult
    package func read(_ name: JobName, _ take: (JobFile.Line) throws -> Void) throws -> Bool {
        do {
            let file = try StoreFiles.FileHandle(path: path(of: name), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            var reader = JobFileReader(file: "\(name)\(Self.jobEnding)")
            var offset: Int64 = 0
            while true {
                let piece = try file.read(count: Self.pieceLength, at: offset)
                if piece.isEmpty { break }
                try reader.read(piece, take)
                offset += Int64(clamping: piece.count)
            }
            try reader.end()
            return true
        } catch let failure as SystemFailure {
            if failure.isMissing { return false }
            throw failure.storeError()
        }
    }

    /// Returns the first line of a job's file, after reading all of it; `nil` if there is no such
    /// job.
    ///
    /// - Throws: ``StoreError``, ``JobFile/Refusal``
    package func header(of name: JobName) throws -> JobFile.Header? {
        var header: JobFile.Header?
        try read(name) { if case .header(let found) = $0 { header = found } }
        return header
    }

    /// Returns the partition that the first line of a job's file names, also if a later line is
    /// damaged; `nil` if there is no such job, or that line is damaged.
    func statedPartition(of name: JobName) -> JobPartition? {
        var partition: JobPartition?
        // The lines before the damage are read.
        _ = try? read(name) { if case .header(let header) = $0 { partition = header.partition } }
        return partition
    }

    // MARK: Changes

    /// Marks a recording before its first response is stored.
    func mark(_ name: JobName, _ partitions: [JobPartition]) throws {
        try changing {
            try makeFolder(folder.path)
            try folder.replace(path(ofMark: name), with: Array(partitions.map { "\($0)\n" }.joined().utf8))
        }
    }

    /// Returns the partitions that a mark names.
    func partitions(ofMark name: JobName) throws -> [JobPartition] {
        try changing {
            let file = try StoreFiles.FileHandle(path: path(ofMark: name), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let text = String(decoding: try file.read(count: 1024, at: 0), as: UTF8.self)
            return text.split(separator: "\n").compactMap { JobPartition(String($0)) }
        }
    }

    func removeMark(_ name: JobName) throws { try changing { try folder.remove(path(ofMark: name)) } }

    /// Replaces a job's file, or creates it, atomically.
    func replace(_ header: JobFile.Header, _ entries: [JobFile.Entry]) throws {
        var bytes = header.line
        for entry in entries { bytes += entry.line }
        try changing { try folder.replace(path(of: header.name), with: bytes) }
    }

    func remove(_ name: JobName) throws { try changing { try folder.remove(path(of: name)) } }

    private func changing<Value>(_ change: () throws -> Value) throws -> Value {
        do {
            return try change()
        } catch let failure as SystemFailure {
            throw failure.storeError()
        }
    }
}
