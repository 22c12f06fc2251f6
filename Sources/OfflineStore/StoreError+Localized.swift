#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Texts for users, in English. Without them, `localizedDescription` would give only the type and a
/// number.
extension StoreError: LocalizedError {
    /// The message, which includes the next step.
    public var errorDescription: String? { message }
    /// The meaning of the code.
    public var failureReason: String? { code.reason }
}

extension StoreError.Code {
    fileprivate var reason: String? { Self.reasons[self] }

    private static let reasons: [StoreError.Code: String] = [
        .closed: "The store is closed.",
        .readOnly: "The store is open read-only.",
        .invalidConfiguration: "A setting is out of range.",
        .notAStore: "The path is not a store.",
        .foreignDatabase: "The database belongs to another program.",
        .newerSchema: "The store was written by a newer version.",
        .inUse: "The store is open for writing elsewhere.",
        .unwritable: "The store's folder or a file in it cannot be opened or changed.",
        .damaged: "Stored data is damaged.",
        .notEncodable: "The value cannot be encoded.",
        .tooLarge: "The entry exceeds a size limit.",
        .incomplete: "The body ended before its announced length.",
        .busy: "Another operation must finish first.",
        .full: "The disk is full, or the store's budget is used up.",
        .io: "A disk operation failed.",
        .invalidKey: "The object's key is empty or too long.",
        .invalidTag: "The response has too many tags, or a tag that is too long.",
        .gone: "The body that was being read was removed.",
    ]
}
