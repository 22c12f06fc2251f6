import CommandLineSupport
import Crypto
import HoldfastGateway

/// The default location for stores: a folder per origin, inside the state folder of the system or
/// the user.
struct DefaultStore: Sendable {
    /// The variables for a state folder, in order of precedence.
    enum Variable: String {
        /// Set by systemd for a unit with `StateDirectory=`. It may contain several folders,
        /// separated by colons; the first folder is used.
        case stateDirectory = "STATE_DIRECTORY"
        /// Defined in the XDG Base Directory Specification. A relative path is invalid and is
        /// ignored.
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

    /// Returns the store's folder for an origin. It may not exist yet.
    ///
    /// - Throws: `CommandFailure` if no environment variable names a state folder.
    func path(for origin: GatewayOrigin) throws -> String {
        let folder = try folder
        return folder + (folder.hasSuffix("/") ? "" : "/") + Self.name(for: origin)
    }

    /// The folder of the store for jobs whose requests name their origins. No origin's folder has
    /// this name.
    ///
    /// - Throws: `CommandFailure` if no environment variable names a state folder.
    var pathOfJobs: String {
        get throws {
            let folder = try folder
            return folder + (folder.hasSuffix("/") ? "" : "/") + "any-origin"
        }
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

    /// Returns a folder name for an origin, such as `https-api.example.com-443`. Different origins
    /// have different names.
    ///
    /// A host consists of letters, digits and `-._~`, or is an IPv6 address in brackets. For an
    /// IPv6 address, the brackets are removed and the colons become plus signs. A host of more than
    /// 240 bytes is truncated, and an equals sign and the host's hash are appended.
    static func name(for origin: GatewayOrigin) -> String {
        let host = String(origin.host.compactMap { "[]".contains($0) ? nil : $0 == ":" ? "+" : $0 })
        // The maximum length of a file name is 255 bytes.
        guard host.utf8.count > 240 else { return "\(origin.scheme)-\(host)-\(origin.port)" }
        let hash = SHA256.hash(data: Array(origin.host.utf8))
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            .joined()
        return "\(origin.scheme)-\(host.prefix(80))=\(hash)-\(origin.port)"
    }
}
