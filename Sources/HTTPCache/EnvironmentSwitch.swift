import LibC
package import Logging

/// A part of the program that an environment variable can turn off: `on` (the default) or `off`.
///
/// For optional parts, so that an operator can immediately turn one off if it fails. The variable
/// is read once, when the part is first used.
package struct EnvironmentSwitch: Sendable {
    private let name: String
    private let value: String?

    /// Whether the part is used. A value other than `on` and `off` has no effect.
    package let isOn: Bool

    /// - Parameter value: the variable's value; `nil` if it is not set.
    package init(_ name: String, value: String?) {
        self.name = name
        self.value = value
        isOn = value != "off"
    }

    private init(_ name: String) { self.init(name, value: getenv(name).map { String(cString: $0) }) }

    /// Whether the gateway writes to sockets itself, bypassing the channel.
    package static let socketWriter = EnvironmentSwitch("HOLDFAST_SOCKET_WRITER")
    /// Whether a call of the request layer starts on its caller's thread.
    package static let callExecutor = EnvironmentSwitch("HOLDFAST_CALL_EXECUTOR")

    /// Logs that the part is turned off, or that the variable has an unknown value.
    package func report(to logger: Logger) {
        switch value {
        case nil, "on": break
        case "off":
            logger.info(
                "An environment variable turns off an optimization",
                metadata: ["environment.variable": "\(name)"]
            )
        default:
            logger.warning(
                "Ignoring an environment variable: its value must be 'on' or 'off'",
                metadata: ["environment.variable": "\(name)"]
            )
        }
    }
}
