#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Without these conformances, `localizedDescription` would state only an error's type and a number.

extension OriginTransport.TrustFailure: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}

extension OriginTransport.FileFailure: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}
