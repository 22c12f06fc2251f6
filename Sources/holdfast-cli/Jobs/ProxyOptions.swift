import ArgumentParser
import CommandLineSupport
import Foundation

/// The options of `record` and `replay` for the command's surroundings, and for its proxy, which
/// they use without an origin.
struct ProxyOptions: ParsableArguments {
    @Flag(
        name: .customLong("isolated"),
        help: "Run the command in a network namespace in which it reaches nothing but the gateway. Linux."
    )
    var isIsolated = false

    @Flag(
        name: .customLong("print-env"),
        help:
            "Print the variables for a shell instead of running a command, until a signal such as that of Ctrl-C ends the job."
    )
    var printsEnvironment = false

    @Option(
        name: .customLong("origin-ca"),
        help: ArgumentHelp(
            "PEM file of the authorities that sign origins' certificates. Default: the system's. Without '--origin' and '--config'.",
            valueName: "file"
        )
    )
    var originRoots: String?

    @Flag(
        name: .customLong("allow-private"),
        help:
            "Connect to private and link-local addresses too; loopback stays refused. Without '--origin' and '--config'."
    )
    var allowsPrivate = false

    @Option(
        name: .customLong("allow-port"),
        help: ArgumentHelp(
            "Also connect to this port of origins, besides 80 and 443. Repeatable. Without '--origin' and '--config'.",
            valueName: "port"
        ),
        transform: { try WholeNumber.read($0) }
    )
    var ports: [Int] = []

    @Flag(
        name: .customLong("java"),
        help:
            "Set JAVA_TOOL_OPTIONS, with a trust store. Each Java program prints that it has picked it up. Without '--origin' and '--config'."
    )
    var includesJava = false

    @Flag(
        name: .customLong("chromium"),
        help:
            "Set HOME to a folder with a certificate database for Chromium, and links to what is in the old one. Needs 'certutil', and '--isolated' because Chromium sends no password. Without '--origin' and '--config'."
    )
    var includesChromium = false

    func validate() throws {
        guard let wrong = ports.first(where: { !(1...65_535).contains($0) }) else { return }
        throw ValidationError("'--allow-port' must be a number from 1 to 65535, not '\(wrong)'.")
    }

    /// - Throws: `ValidationError` if the options do not fit the command.
    func check(_ command: [String]) throws {
        guard printsEnvironment else {
            guard command.isEmpty else { return }
            throw ValidationError("Add the command to run after '--'.")
        }
        guard command.isEmpty else { throw ValidationError("'--print-env' runs no command.") }
        guard !isIsolated else { throw ValidationError("'--isolated' needs a command, and '--print-env' runs none.") }
    }

    /// Returns the settings of the proxy; `nil` if the gateway has routes.
    ///
    /// - Parameter standard: the default settings; `nil` if the gateway has routes.
    /// - Throws: `ValidationError`
    func settings(for standard: ProxySettings?) throws -> ProxySettings? {
        guard var settings = standard else {
            guard originRoots == nil, !allowsPrivate, ports.isEmpty, !includesJava, !includesChromium else {
                throw ValidationError(
                    "'--origin-ca', '--allow-private', '--allow-port', '--java' and '--chromium' are for commands without '--origin' and without routes in '--config'. Set 'origins' in the file instead."
                )
            }
            return nil
        }
        if let originRoots {
            guard FileManager.default.isReadableFile(atPath: originRoots) else {
                throw CommandFailure("The file '\(originRoots)' of '--origin-ca' cannot be read.")
            }
            settings.originRoots = originRoots
        }
        settings.allowsPrivate = allowsPrivate
        settings.ports.formUnion(ports.map { UInt16(clamping: $0) })
        settings.includesJava = includesJava
        settings.includesChromium = includesChromium
        settings.needsPassword = !isIsolated
        return settings
    }
}
