import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `holdfast`: the request layer from the shell.
@main
struct HoldfastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast",
        abstract: "Keeps a service answering when the network does not.",
        discussion: """
            Responses are kept in a store, a folder of your choice, by the rules of HTTP caching (RFC 9111), and answer when the origin \
            cannot be reached. Look into a store with 'cache-dump'.
            """,
        subcommands: [Get.self]
    )

    static func main() async {
        // Whoever reads the output may stop reading: that is an error of a write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // Descriptors that the caller closed would be given to the first files and sockets that are opened, and output would go there.
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            if descriptor < 0 || descriptor > STDERR_FILENO {
                close(descriptor)
                break
            }
        }
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(withError: error)
        }
    }
}
