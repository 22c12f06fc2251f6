public import CacheRules
public import HTTPCache
import HTTPCacheOperations
public import HTTPCacheSemantics
import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// The engine does not use Foundation, so the localized texts of its errors are defined here.

extension ExchangeError: LocalizedError {
    /// The message.
    public var errorDescription: String? { message }
    /// The meaning of the code.
    public var failureReason: String? { HoldfastError.Code(code).words?.reason }
    /// The next step.
    public var recoverySuggestion: String? { HoldfastError.Code(code).words?.nextStep }
}

extension TransportError: LocalizedError {
    /// The message.
    public var errorDescription: String? { message }
    /// The next step, if the server could not be reached.
    public var recoverySuggestion: String? {
        code.isUnreachable ? HoldfastError.Code.originUnreachable.words?.nextStep : nil
    }
}

extension TargetURIError: LocalizedError {
    /// The message.
    public var errorDescription: String? { message }
}

extension ConfigurationError: LocalizedError {
    /// One line for each finding.
    public var errorDescription: String? { description }
}

extension PinsExceedBudget: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension BodyStreamError: LocalizedError {
    /// The failure, with its limit and the next step.
    public var errorDescription: String? {
        switch self {
        case .alreadyRead: "The body was already read. A body from the network can be read only once."
        case .tooLarge(let limit):
            "The body has more than \(limit) bytes, the reader's limit. Raise the limit, or read the body in pieces."
        case .fellBehind: "The reader was too slow, and the bytes that it would read next are gone. Request it again."
        case .truncated(let expected, let received):
            "The body has \(received) bytes instead of \(expected). Request it again."
        }
    }
}
