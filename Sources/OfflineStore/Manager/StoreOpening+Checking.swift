import LibC
import StoreFiles

extension CacheManager {
    /// Checks whether a store could be opened for writing at a path: its settings, the folder's
    /// content and permissions, and the database's owner and schema. Takes no lock and leaves
    /// everything unchanged, so another process may have the store open.
    ///
    /// - Throws: ``StoreError``
    package static func check(at path: String, configuration: Configuration) throws {
        _ = try StoreLimits(configuration)
        try StoreOpening.checkPath(path)
        let folder = StoreFolder(path: path)
        try StoreOpening.translatingErrors(folder) {
            var place = folder.path
            let isAbsent = try StoreOpening.examine(folder) == .absent
            if isAbsent {
                // The folder would be created here.
                repeat { place = parent(of: place) } while place != "/" && access(place, F_OK) != 0
            }
            guard access(place, W_OK | X_OK) == 0 else {
                let code = errno
                let reason = String(cString: strerror(code))
                let advice =
                    code == EROFS
                    ? "\(AccessAdvice(path: place, number: code))"
                    : "Run the command as the gateway's user, or change the folder's owner."
                throw StoreError(
                    code: .unwritable,
                    message:
                        "This user (uid \(geteuid())) cannot write to '\(place)', which the store '\(path)' needs: "
                        + "\(reason). \(advice)"
                )
            }
            if isAbsent { try checkCreation(in: place, for: path) }
        }
    }

    /// Creates an empty folder and removes it. Some file systems, such as `/proc`, reject new
    /// folders whatever their permissions say.
    private static func checkCreation(in place: String, for path: String) throws {
        var template = Array("\(place)/.holdfast-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = String(cString: strerror(errno))
            throw StoreError(
                code: .unwritable,
                message: "No folder can be created in '\(place)', which the store '\(path)' needs: \(reason). "
                    + "Set another folder."
            )
        }
        rmdir(template)
    }

    /// The largest body that a store with these settings keeps, in bytes.
    ///
    /// - Throws: ``StoreError`` if the settings are invalid.
    package static func largestBody(_ configuration: Configuration) throws -> Int64 {
        try StoreLimits(configuration).maximumObject
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
