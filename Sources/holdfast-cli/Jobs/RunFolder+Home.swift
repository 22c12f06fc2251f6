import CommandLineSupport
import Foundation

extension RunFolder {
    private static let program = "certutil"
    /// The folder in which Chromium looks for a database of certificates, in the home folder.
    private static let trust = ".pki"
    /// The maximum number of entries of the caller's home folder that get a link.
    private static let linkLimit = 10_000

    /// Makes a home folder in which Chromium trusts an authority. Chromium reads no variable for
    /// that, and the caller's own database would keep the authority after the run.
    ///
    /// Everything else in the folder is a link to the caller's own.
    ///
    /// - Parameter authority: a certificate in PEM.
    /// - Returns: the path.
    /// - Throws: `CommandFailure`
    func home(trusting authority: String, _ environment: [String: String]) throws -> String {
        guard let program = Self.certutil(in: environment) else {
            throw CommandFailure(
                "'--chromium' needs '\(Self.program)', which is not in PATH. Install 'libnss3-tools' (Debian, Ubuntu) or 'nss-tools' (Fedora)."
            )
        }
        let home = path + "/home"
        let database = "\(home)/\(Self.trust)/nssdb"
        let files = FileManager.default
        do {
            try files.createDirectory(
                atPath: database,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            if let own = environment["HOME"], own.hasPrefix("/") {
                let names = (try? files.contentsOfDirectory(atPath: own)) ?? []
                for name in names.prefix(Self.linkLimit) where name != Self.trust {
                    try files.createSymbolicLink(
                        atPath: "\(home)/\(name)",
                        withDestinationPath: "\(own)/\(name)"
                    )
                }
            }
        } catch {
            throw CommandFailure("The folder '\(home)' cannot be set up: \(error).")
        }
        let file = try write("authority.pem", Array(authority.utf8))
        for words in [["-N", "--empty-password"], ["-A", "-n", "Holdfast", "-t", "C,,", "-i", file]] {
            try Self.run(program, words + ["-d", "sql:" + database])
        }
        return home
    }

    private static func certutil(in environment: [String: String]) -> String? {
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        return folders.lazy.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw CommandFailure("'\(program)' cannot be started: \(error).")
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CommandFailure(
                "'\(program)' could not add the authority of this run to the database in '\(arguments.last ?? "")': status \(process.terminationStatus)."
            )
        }
    }
}
