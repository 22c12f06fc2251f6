import HTTPCache
import HTTPCacheSemantics
import Logging
import OfflineStore

/// How the store is opened here.
enum Store {
    /// - Parameters, from `options`: `folder`, `budget` in octets (64 GiB), `memory` in octets (0: no memory tier; 'default').
    @concurrent
    static func open(_ options: Options) async throws -> CacheManager {
        var configuration = CacheManager.Configuration(budget: Int64(try options.number("budget", default: 64 << 30)))
        configuration.coder = OctetCoder()
        if options.text("memory", default: "0") != "default" {
            try setMemory(try options.number("memory", default: 0), &configuration)
        }
        return try await CacheManager.open(
            at: try options.text("folder"),
            configuration: configuration,
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    // MARK: What the store does not have yet

    /// Octets for the memory tier.
    private static func setMemory(_ octets: Int, _ configuration: inout CacheManager.Configuration) throws {
        if octets > 0 { throw NotThereYet() }
    }

    /// Objects in one transaction; those that are not stored are left out.
    static func objects(_ store: CacheManager, forKeys keys: [String]) async throws -> [String: [UInt8]] {
        throw NotThereYet()
    }

    /// Responses in one transaction; those that are not stored are left out.
    static func responses(_ store: CacheManager, for keys: [CacheKey]) async throws -> [CacheKey: RawResponse] {
        throw NotThereYet()
    }

    /// The store cannot do what is to be measured.
    struct NotThereYet: Error, CustomStringConvertible {
        var description: String { "not there yet" }
    }
}
