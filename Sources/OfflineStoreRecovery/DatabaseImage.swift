import LibC
import OfflineStore
import StoreFiles

/// The pages of a database file with the changes in its write-ahead log, read without SQLite and
/// without writing.
///
/// Only complete transactions in the log are used: the frames up to the last commit that is reached
/// by an unbroken chain of checksums.
///
/// <https://www.sqlite.org/fileformat2.html>
final class DatabaseImage {
    static let pageSize = Int(StoreLimits.pageSize)

    /// The number of readable pages, numbered from 1.
    let pageCount: Int
    /// The number of pages that are present. Later pages are known only because other pages
    /// reference them.
    let presentPages: Int
    private let file: FileHandle
    private let log: FileHandle?
    /// The offset in the log at which each page's content begins.
    private let frames: [Int: Int64]

    /// - Throws: ``SystemFailure`` if the file cannot be opened.
    init(path: String) throws {
        file = try FileHandle(path: path, flags: O_RDONLY)
        let size = try FileStatus(path: path)?.size ?? 0
        let filePages = Int((size + StoreLimits.pageSize - 1) / StoreLimits.pageSize)
        var log = try? FileHandle(path: path + "-wal", flags: O_RDONLY)
        var (frames, committedPages) = log.map { Self.frames(in: $0) } ?? ([:], nil)
        if committedPages == nil {
            frames = [:]
            log = nil
        }
        self.log = log
        self.frames = frames
        let header = (try? file.read(count: 100, at: 0)) ?? []
        if let committedPages {
            // Each page is in the file or in the log. A damaged log may claim any number of pages,
            // with any page numbers.
            let pageCount = min(committedPages, filePages + frames.count + Self.mostMissing)
            self.pageCount = pageCount
            presentPages = min(pageCount, max(filePages, frames.keys.filter { $0 <= pageCount }.max() ?? 0))
        } else if header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)),
            header[24..<28].elementsEqual(header[92..<96]), header.integer(at: 28) > 0,
            header.integer(at: 28) - filePages < Self.mostMissing
        {
            pageCount = header.integer(at: 28)
            presentPages = min(filePages, pageCount)
        } else {
            pageCount = filePages
            presentPages = filePages
        }
    }

    /// The maximum number of missing pages that a header or a log may claim. A header that claims
    /// more is considered damaged.
    private static let mostMissing = 1 << 20

    /// Returns a page's bytes; zeros if the page is missing or cannot be read.
    func page(_ number: Int) -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: Self.pageSize)
        guard number >= 1, number <= pageCount else { return zeros }
        var bytes: [UInt8]
        if let log, let offset = frames[number] {
            bytes = (try? log.read(count: Self.pageSize, at: offset)) ?? zeros
        } else {
            bytes = (try? file.read(count: Self.pageSize, at: Int64(number - 1) * StoreLimits.pageSize)) ?? zeros
        }
        if bytes.count < Self.pageSize { bytes += zeros[bytes.count...] }
        return bytes
    }

    // MARK: The log

    private static let logHeaderLength = 32
    private static let frameHeaderLength = 24

    /// Returns the committed frames and the resulting number of pages; the number is `nil` if the
    /// log has no commit.
    private static func frames(in log: FileHandle) -> (frames: [Int: Int64], pages: Int?) {
        guard let header = try? log.read(count: logHeaderLength, at: 0), header.count == logHeaderLength,
            header.integer(at: 0) | 1 == 0x377f_0683, header.integer(at: 8) == pageSize
        else { return ([:], nil) }
        let isBigEndian = header.integer(at: 0) & 1 == 1
        var sum = LogChecksum(isBigEndian: isBigEndian)
        sum.add(header[..<24])
        guard sum.matches(header, at: 24) else { return ([:], nil) }
        var committed: [Int: Int64] = [:]
        var pages: Int?
        var uncommitted: [Int: Int64] = [:]
        var offset = Int64(logHeaderLength)
        while let frame = try? log.read(count: frameHeaderLength + pageSize, at: offset),
            frame.count == frameHeaderLength + pageSize, frame[8..<16].elementsEqual(header[16..<24])
        {
            sum.add(frame[..<8])
            sum.add(frame[frameHeaderLength...])
            let number = frame.integer(at: 0)
            guard sum.matches(frame, at: 16), number > 0 else { break }
            uncommitted[number] = offset + Int64(frameHeaderLength)
            if frame.integer(at: 4) > 0 {
                committed.merge(uncommitted) { $1 }
                uncommitted = [:]
                pages = frame.integer(at: 4)
            }
            offset += Int64(frame.count)
        }
        return (committed, pages)
    }
}

/// The running checksum of a write-ahead log.
private struct LogChecksum {
    private let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(isBigEndian: Bool) {
        self.isBigEndian = isBigEndian
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
                first = first &+ word(bytes, offset) &+ second
                second = second &+ word(bytes, offset + 4) &+ first
            }
        }
    }

    private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }

    func matches(_ bytes: [UInt8], at offset: Int) -> Bool {
        bytes.integer(at: offset) == Int(first) && bytes.integer(at: offset + 4) == Int(second)
    }
}

extension [UInt8] {
    /// Reads four bytes as SQLite does: big-endian and unsigned.
    func integer(at offset: Int) -> Int {
        Int(self[offset]) << 24 | Int(self[offset + 1]) << 16 | Int(self[offset + 2]) << 8 | Int(self[offset + 3])
    }
}
