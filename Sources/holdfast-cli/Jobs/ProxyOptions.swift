import ArgumentParser
import CommandLineSupport
import Foundation

/// The options of `record` and `replay` for the command's surroundings, and for its proxy, which
/// they use without an origin.
struct ProxyOptions: ParsableArguments {
    @Flag(
        name: .customLong("isolated"),
        help: "Run the command in a network namespace where it can reach only the gateway. Linux only."
    )
    var isIsolated = false

    @Flag(
        name: .customLong("print-env"),
        help:
            "Instead of running a command, print the variables for a shell, and serve it until SIGINT (Ctrl-C) or SIGTERM."
    )
    var printsEnvironment = false

    @Option(
        name: .customLong("origin-ca"),
        help: ArgumentHelp(
            "PEM file with the certificate authorities of origins. Default: the system's. Without '--origin' and '--config'.",
            valueName: "file"
        )
    )
    var originRoots: String?

    @Flag(
        name: .customLong("allow-private"),
        help:
            "Also connect to private and link-local addresses, but not to loopback. Without '--origin' and '--config'."
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
            "Set JAVA_TOOL_OPTIONS to use a trust store of this run. Each Java program prints a line about it. Without '--origin' and '--config'."
    )
    var includesJava = false

    @Flag(
        name: .customLong("chromium"),
        help:
            "Set HOME to a folder with a certificate database for Chromium, and links to everything in the user's home folder. Needs 'certutil', and '--isolated', because Chromium sends no proxy password. Without '--origin' and '--config'."
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
        guard command.isEmpty else { throw ValidationError("'--print-env' runs no command. Omit one of them.") }
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
