import ArgumentParser
import OfflineStore

/// The options of every command: the store and the output format.
struct StoreOptions: ParsableArguments {
    /// The output format.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Argument(help: "Store folder. 'holdfast serve' prints the folder that it uses by default.")
    var store: String

    @Option(help: "Output format; json prints one JSON object per line.")
    var format = Format.text

    /// Opens the store read-only and closes it when `body` returns.
    func withStore(_ body: (CacheManager) async throws -> Void) async throws {
        let store = try await CacheManager.openReadOnly(at: store)
        do {
            try await body(store)
        } catch {
            try? await store.close()
            throw error
        }
        try await store.close()
    }
}
