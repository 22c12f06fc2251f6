import HTTPCache
import HTTPCacheSemantics
import Logging
import OfflineStore

/// Opens the store for the measurements.
enum Store {
    /// - Parameters, from `options`: `folder`, `budget` in bytes (64 GiB), `memory` in bytes (0: no
    ///   memory tier; 'default').
    @concurrent
    static func open(_ options: Options) async throws -> CacheManager {
        var configuration = CacheManager.Configuration(budget: Int64(try options.number("budget", default: 64 << 30)))
        configuration.coder = ByteCoder()
        if options.text("memory", default: "0") != "default" {
            configuration.memoryBudget = try options.number("memory", default: 0)
        }
        return try await CacheManager.open(
            at: try options.text("folder"),
            configuration: configuration,
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}
