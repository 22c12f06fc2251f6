import Crypto
import LocalFiles

/// The content of the files that a reload rereads, as digests, to say which of them changed.
struct FileDigests: Sendable {
    /// The maximum size of a file. No part of a gateway reads a larger one.
    private static let limit = 16 << 20

    private var digests: [String: SHA256Digest] = [:]

    /// - Parameter groups: the paths. Files that are used only together are in one group.
    init(of groups: [[String]]) {
        for path in groups.joined() { digests[path] = Self.digest(of: path) }
    }

    /// Reads the files again, after a reload.
    ///
    /// - Parameters:
    ///   - groups: the paths that the new configuration names.
    ///   - problems: why files cannot be used. The previous content of such a file, and of those in
    ///     its group, stays in use.
    /// - Returns: the paths of the files whose content changed, sorted.
    mutating func reread(_ groups: [[String]], problems: [String]) -> [String] {
        var changed: Set<String> = []
        var new: [String: SHA256Digest] = [:]
        for group in groups {
            let isRejected = problems.contains { problem in group.contains { problem.contains("\($0)'") } }
            for path in group {
                let digest = isRejected ? digests[path] : Self.digest(of: path)
                if let old = digests[path], let digest, old != digest { changed.insert(path) }
                new[path] = digest
            }
        }
        digests = new
        return changed.sorted()
    }

    private static func digest(of path: String) -> SHA256Digest? {
        (try? LocalFile.read(path, limit: limit)).map { SHA256.hash(data: $0) }
    }
}
