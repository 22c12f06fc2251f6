import ArgumentParser
import CommandLineSupport
import Foundation

/// The options of a command's proxy, which `record` and `replay` use without an origin.
struct ProxyOptions: ParsableArguments {
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
        help: "Connect to private and link-local addresses too. Without '--origin' and '--config'."
    )
    var allowsPrivate = false

    @Option(
        name: .customLong("allow-port"),
        help: ArgumentHelp(
            "Connect to this port of origins too, besides 80 and 443. Repeatable. Without '--origin' and '--config'.",
            valueName: "port"
        )
    )
    var ports: [UInt16] = []

    /// Returns the settings of the proxy; `nil` if the gateway has routes.
    ///
    /// - Parameter standard: the default settings; `nil` if the gateway has routes.
    /// - Throws: `ValidationError`
    func settings(for standard: ProxySettings?) throws -> ProxySettings? {
        guard var settings = standard else {
            guard originRoots == nil, !allowsPrivate, ports.isEmpty else {
                throw ValidationError(
                    "'--origin-ca', '--allow-private' and '--allow-port' are for commands without '--origin' and without routes in '--config'. Set 'origins' in the file instead."
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
        settings.ports.formUnion(ports)
        return settings
    }
}
