import Foundation
import HoldfastGateway
import LibC

/// The file of an access log, before it is opened.
enum AccessLogFile {
    /// Returns why a destination cannot be written, as a sentence; `nil` if it can. It changes
    /// nothing.
    ///
    /// - Parameter store: the store's folder, which may not exist yet.
    static func fault(of destination: AccessLog.Destination, store: String?) -> String? {
        guard case .file(let path) = destination else { return nil }
        if let store, URL(fileURLWithPath: path).standardized.path == URL(fileURLWithPath: store).standardized.path {
            return "'\(path)' is the folder of the store ('store.path'). Write the path of a file."
        }
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
            let file = URL(fileURLWithPath: path).appendingPathComponent("access.log").path
            return "'\(path)' is a folder. Write the path of a file, such as '\(file)'."
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let (place, rights) = access(path, F_OK) == 0 ? (path, W_OK) : (folder, W_OK | X_OK)
        guard access(place, rights) != 0 else { return nil }
        guard errno != ENOENT else { return "The folder '\(folder)' does not exist. Create it." }
        let reason = String(cString: strerror(errno))
        return "This user (uid \(geteuid())) cannot write to '\(place)': \(reason)."
    }
}
