import Foundation
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastControl

/// The token files of a gateway: those of the control plane, and that of the port for metrics.
///
/// Reading one kind compares it with the other: a token that reads metrics is in the hands of
/// scrapers, and must not be one of the control plane.
struct TokenFiles: Sendable {
    /// A token of the control plane.
    struct Entry: Sendable {
        let file: TokenFile
        let name: String
        let scope: ControlScope

        func read() throws(InvalidSetting) -> ControlToken { try file.read(name: name, scope: scope) }
    }

    /// The tokens of the control plane; empty if no operation needs one.
    let control: [Entry]
    /// The file that the gateway creates in the store's folder, because none is configured.
    let standard: TokenFile?
    private let metrics: TokenFile?

    /// - Parameter store: the store's folder; `nil` if it is not known.
    init(_ configuration: Configuration, store: String?) {
        metrics = configuration.metricsToken.map(Self.file)
        guard Self.areNeeded(by: configuration) else {
            (control, standard) = ([], nil)
            return
        }
        let configured = configuration.controlTokens.map {
            Entry(file: Self.file($0.file), name: $0.name, scope: ControlScope($0.scope))
        }
        standard = configured.isEmpty ? store.map { TokenFile(path: $0 + "/" + TokenFile.standardName) } : nil
        control = standard.map { [Entry(file: $0, name: "standard", scope: .operate)] } ?? configured
    }

    /// Whether clients can perform operations that need a token.
    static func areNeeded(by configuration: Configuration) -> Bool {
        configuration.control.listen != nil || !configuration.clients.purgers.isEmpty
    }

    var hasMetricsToken: Bool { metrics != nil }
    var paths: [String] { (control.map(\.file) + [metrics].compactMap(\.self)).map(\.path) }

    /// Reads the tokens of the control plane.
    ///
    /// - Throws: `InvalidSetting` if a file cannot be used, or has the token for metrics.
    func readControl() throws(InvalidSetting) -> [ControlToken] {
        var tokens: [ControlToken] = []
        for entry in control { tokens.append(try entry.read()) }
        // A file that cannot be used is reported where its own kind is read.
        if let other = try? metrics?.read(name: "metrics", scope: .read) { try other.check(differsFrom: tokens) }
        return tokens
    }

    /// Reads the token for metrics. Returns `nil` if clients need none.
    ///
    /// - Throws: `InvalidSetting` if the file cannot be used, or has a token of the control plane.
    func readMetrics() throws(InvalidSetting) -> ControlToken? {
        guard let metrics else { return nil }
        let token = try metrics.read(name: "metrics", scope: .read)
        try token.check(differsFrom: control.compactMap { try? $0.read() })
        return token
    }

    /// A relative path is relative to the working directory, which may change.
    private static func file(_ path: String) -> TokenFile { TokenFile(path: URL(fileURLWithPath: path).path) }
}
