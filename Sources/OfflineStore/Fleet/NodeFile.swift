package import HTTPCache
import LibC
package import StoreFiles

/// The name of a store among the nodes of a fleet, in a file in its folder. The file outlasts the
/// database, which is replaced if it is damaged.
///
/// The file contains its own inode number. So a folder that was copied file by file is recognized
/// as a copy, and gets its own name.
///
/// ```
/// holdfast node 1 <32 hexadecimal digits> <inode>
/// notes about other nodes
/// ```
package struct NodeFile: Sendable {
    /// The maximum length of the notes, in bytes.
    static let longestNotes = 1 << 20

    private let folder: StoreFolder

    package init(_ folder: StoreFolder) { self.folder = folder }

    /// Returns the store's name, and its notes about other nodes. The name is `nil` if there is
    /// none, or if it belongs to the folder that this folder was copied from.
    package func read() throws -> (name: PurgeID?, notes: [UInt8]) {
        guard let status = try FileStatus(path: folder.nodePath) else { return (nil, []) }
        let file = try FileHandle(path: folder.nodePath, flags: O_RDONLY | O_NOFOLLOW)
        let bytes = try file.read(count: 128 + Self.longestNotes, at: 0)
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return (nil, []) }
        let parts = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
        guard parts.count == 5, parts[..<3].elementsEqual(["holdfast", "node", "1"]),
            let name = SixteenBytes(hex: parts[3].utf8)
        else { return (nil, []) }
        let isHere = parts[4] == "\(status.inode)"
        return (isHere ? PurgeID(name.bytes) : nil, Array(bytes[bytes.index(after: end)...]))
    }

    /// Returns the store's name, which is created if there is none, and the notes. Both are durable
    /// when this returns.
    package func make() throws -> (name: PurgeID, notes: [UInt8]) {
        let (name, notes) = try read()
        if let name { return (name, notes) }
        return (try renew(), notes)
    }

    /// Gives the store a new name. The name is durable when this returns.
    package func renew() throws -> PurgeID {
        let name = PurgeID.random()
        try write(name, try read().notes)
        return name
    }

    /// Replaces the notes. They are durable when this returns. Does nothing if the store has no
    /// name, or if the notes are too long.
    package func write(notes: [UInt8]) throws {
        guard let name = try read().name, notes.count <= Self.longestNotes else { return }
        try write(name, notes)
    }

    private func write(_ name: PurgeID, _ notes: [UInt8]) throws {
        let next = folder.nodePath + ".new"
        // A file keeps its inode when it is renamed.
        try FileHandle(path: next, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW).synchronize()
        guard let status = try FileStatus(path: next) else { throw SystemFailure("examine", next) }
        let line = Array("holdfast node 1 \(name) \(status.inode)\n".utf8)
        try folder.replace(folder.nodePath, with: line + notes)
    }
}
