import ArgumentParser
import CommandLineSupport

/// The `cache-dump` command. It shows a store's content to people and programs.
@main
struct CacheDump: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache-dump",
        abstract: "Shows, verifies, backs up and recovers a Holdfast store.",
        discussion: """
            Reads a store without changing it, even while another process writes to it; 'backup' and 'recover' copy a \
            store to a new folder. Secrets are redacted: values of parameters such as 'token' in URLs, credentials, cookies.

            Data goes to standard output, everything else to standard error. The exit status is 0; 1 if something \
            failed or was not found; 64 if the command line is invalid.

            EXAMPLES
              cache-dump list feed.store
              cache-dump list feed.store --expired --url-prefix https://api.example.com/
              cache-dump show feed.store 'https://api.example.com/moments?userID=harbour'
              cache-dump show feed.store 3f2a9c01d2e4 --body > body.json
              cache-dump stats feed.store --format json
              cache-dump verify feed.store --full
              cache-dump fleet feed.store
              cache-dump backup feed.store /backup/feed.store
              cache-dump recover damaged.store new.store
            """,
        version: Release.version,
        subcommands: [
            List.self, Show.self, Stats.self, Verify.self, Fleet.self, Backup.self, Recover.self,
        ]
    )

    static func main() async {
        StandardStream.prepare()
        var command: any ParsableCommand
        do { command = try parseAsRoot() } catch { exitAfterParsing(error) }
        exitIfOptionIsRepeated()
        do {
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch is StandardStream.Closed {
            return
        } catch {
            exitAfterRunning(error)
        }
    }
}
