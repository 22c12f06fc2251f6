import CommandLineSupport
import Crypto
import HoldfastGateway

/// The place of stores that are not named: a folder for each origin, in the folder that the system
/// or the user has for the state of programs.
struct DefaultStore: Sendable {
    /// The variables that name a folder for state, in the order in which they are read.
    enum Variable: String {
        /// systemd sets it for a unit with `StateDirectory=`. It may name several folders,
        /// separated by colons; the first is used.
        case stateDirectory = "STATE_DIRECTORY"
        /// The XDG Base Directory Specification: a relative path is not valid and is ignored.
        case stateHome = "XDG_STATE_HOME"
        case home = "HOME"
    }

    private let stateDirectory: String?
    private let stateHome: String?
    private let home: String?

    init(environment: [String: String]) {
        func text(_ variable: Variable) -> String? {
            environment[variable.rawValue].flatMap { $0.isEmpty ? nil : $0 }
        }
        stateDirectory = text(.stateDirectory)
        stateHome = text(.stateHome)
        home = text(.home)
    }

    /// The folder of the store for an origin. It need not exist.
    ///
    /// - Throws: `CommandFailure` if the environment names no folder for state.
    func path(for origin: GatewayOrigin) throws -> String {
        let folder = try folder
        return folder + (folder.hasSuffix("/") ? "" : "/") + Self.name(for: origin)
    }

    private var folder: String {
        get throws {
            if let first = stateDirectory?.split(separator: ":").first {
                guard first.hasPrefix("/") else {
                    throw CommandFailure(
                        "'STATE_DIRECTORY' in the environment must be an absolute path, not '\(first)'. "
                            + "Set the store's folder with '--store'."
                    )
                }
                return String(first)
            }
            if let stateHome, stateHome.hasPrefix("/") { return stateHome + "/holdfast" }
            if let home, home.hasPrefix("/") { return home + "/.local/state/holdfast" }
            throw CommandFailure(
                "There is no default folder for the store: the environment has no absolute path in "
                    + "'STATE_DIRECTORY', 'XDG_STATE_HOME' or 'HOME'. Set the store's folder with '--store'."
            )
        }
    }

    /// A folder name for an origin: `https-api.example.com-443`. No two origins have the same.
    ///
    /// A host consists of letters, digits and `-._~`, or it is an IPv6 address in brackets: that
    /// one loses its brackets, and its colons become plus signs. A host of more than 240 bytes is
    /// cut, and its hash follows behind an equals sign.
    static func name(for origin: GatewayOrigin) -> String {
        let host = String(origin.host.compactMap { "[]".contains($0) ? nil : $0 == ":" ? "+" : $0 })
        // The longest file name has 255 bytes.
        guard host.utf8.count > 240 else { return "\(origin.scheme)-\(host)-\(origin.port)" }
        let hash = SHA256.hash(data: Array(origin.host.utf8))
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            .joined()
        return "\(origin.scheme)-\(host.prefix(80))=\(hash)-\(origin.port)"
    }
}
