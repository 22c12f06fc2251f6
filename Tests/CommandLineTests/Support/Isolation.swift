import Foundation

/// Network namespaces, which `--isolated` needs.
enum Isolation {
    /// Whether this user may enter one.
    static let isPossible: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = (getuid() == 0 ? [] : ["--user", "--map-current-user"]) + ["--net", "true"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
