#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Human-readable texts. Without them, `localizedDescription` would state only the type and a
// number.

extension ScriptError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension UnscriptedCalls: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension IgnoredProperties: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension ExpiryFixtureError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
