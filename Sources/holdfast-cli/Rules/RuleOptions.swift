import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration

/// The options that both commands share.
struct RuleOptions: ParsableArguments {
    /// The output format.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    /// The kind of cache that wrote the store.
    enum Kind: String, EnumerableFlag {
        case shared, `private`

        static func help(for value: Self) -> ArgumentHelp? {
            switch value {
            case .shared: "The store belongs to a gateway (shared cache). Default if NEW has routes."
            case .private: "The store belongs to the library (private cache). Default if NEW has no routes."
            }
        }
    }

    @Option(help: "Store folder. 'holdfast serve' prints the folder that it uses by default.")
    var store: String

    @Option(help: "Output format; json prints one JSON object per line.")
    var format = Format.text

    @Flag(exclusivity: .exclusive)
    var kind: Kind?

    /// Returns the policy of the cache that owns the store.
    func policy(_ configuration: HoldfastConfiguration.Configuration) -> CachePolicy {
        switch kind {
        case .shared: CachePolicy(kind: .shared)
        case .private: CachePolicy(kind: .private)
        case nil: CachePolicy(kind: configuration.isForGateway ? .shared : .private)
        }
    }

    /// Opens the store read-only and closes it when `body` returns. The store must exist.
    func reading<Result>(_ body: (CacheManager) async throws -> Result) async throws -> Result {
        try await Self.using(try await CacheManager.openReadOnly(at: store), body)
    }

    /// Passes a store to `body` and closes the store afterwards.
    static func using<Result>(
        _ store: CacheManager,
        _ body: (CacheManager) async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await body(store)
            try await store.close()
            return result
        } catch {
            try? await store.close()
            throw error
        }
    }

    /// Writes one JSON object on one line, with sorted keys.
    static func line(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        StandardStream.output.line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
