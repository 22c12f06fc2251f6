#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Without this conformance, `localizedDescription` would state only an error's type and a number.

extension GatewayRoutes.Conflict: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}
