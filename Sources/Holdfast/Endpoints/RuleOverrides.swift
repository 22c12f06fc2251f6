import CacheRules
import HoldfastContent
import Synchronization

/// Checks each endpoint's rules once instead of for every request.
final class RuleOverrides: Sendable {
    /// Rules are defined in source code, so there are few. Rules beyond this limit are checked on
    /// every request.
    private static let limit = 256

    private let known = Mutex<[RuleSettings: RuleOverride]>([:])

    /// - Throws: `HoldfastError` with code `invalidRule`.
    func override(_ settings: RuleSettings, of endpoint: any Endpoint) throws -> RuleOverride {
        if let override = known.withLock({ $0[settings] }) { return override }
        let override: RuleOverride
        do {
            override = try RuleOverride(settings)
        } catch {
            throw HoldfastError(
                code: .invalidRule,
                message: "The rule of the endpoint '\(type(of: endpoint))' contradicts itself: \(error)",
                cause: error
            )
        }
        known.withLock { if $0.count < Self.limit { $0[settings] = override } }
        return override
    }
}
