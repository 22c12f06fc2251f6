import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastConfiguration

/// The options of both commands.
struct RuleOptions: ParsableArguments {
    /// How output is written.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    /// The kind of cache that wrote the store.
    enum Kind: String, EnumerableFlag {
        case shared, `private`

        static func help(for value: Self) -> ArgumentHelp? {
            switch value {
            case .shared: "The store is a gateway's. The default if NEW has routes."
            case .private: "The store is a library's, of one user. The default if NEW has no routes."
            }
        }
    }

    @Option(help: "The store's folder. 'holdfast serve' prints the folder that it chooses without '--store'.")
    var store: String

    @Option(help: "For people (text), or for programs (json): one JSON object per line.")
    var format = Format.text

    @Flag(exclusivity: .exclusive)
    var kind: Kind?

    /// The policy of the cache that the store belongs to.
    func policy(_ configuration: HoldfastConfiguration.Configuration) -> CachePolicy {
        switch kind {
        case .shared: CachePolicy(kind: .shared)
        case .private: CachePolicy(kind: .private)
        case nil: CachePolicy(kind: configuration.routes.isEmpty ? .private : .shared)
        }
    }

    /// Opens the store read-only, and closes it when `body` is done. The store must exist.
    func reading<Result>(_ body: (CacheManager) async throws -> Result) async throws -> Result {
        try await Self.using(try await CacheManager.openReadOnly(at: store), body)
    }

    /// Passes a store to `body`, and closes it afterwards.
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

    /// Writes one JSON object on one line, its keys sorted.
    static func line(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        StandardStream.output.line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
