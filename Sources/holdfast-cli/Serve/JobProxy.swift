import HoldfastGateway

/// The options of the proxy of a command.
struct ProxySettings: Sendable {
    var allowsPrivate = false
    /// The ports of origins that the command may connect to.
    var ports: Set<UInt16> = [80, 443]
    /// A PEM file of the authorities that sign origins' certificates; `nil` for the system's.
    var originRoots: String?
    /// Whether the command's environment has `JAVA_TOOL_OPTIONS`.
    var includesJava = false
    /// Whether the command's home folder has a database of certificates for Chromium.
    var includesChromium = false
    /// Whether clients need the password. In a namespace of its own, only the command can connect.
    var needsPassword = true
}

/// The parts of a gateway that is the proxy of a command.
struct JobProxy: Sendable {
    let proxy: CommandProxy
    let destinations: DestinationPolicy
    /// A PEM file of the certificates to trust for origins; `nil` for the system's.
    let originRoots: String?
}
