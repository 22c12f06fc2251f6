#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HoldfastError {
    /// A value that a step could not use.
    ///
    /// For those who call steps of their own on emissions; `step` makes it for results.
    /// - Parameters:
    ///   - type: what the step was to make.
    ///   - error: what the step threw; `nil` where it returned nothing. A ``HoldfastError`` stays
    ///     what it is.
    public init<Next>(rejecting value: some Sendable, for type: Next.Type, because error: (any Error)? = nil) {
        switch error {
        case let error as HoldfastError:
            self = error
        case let error as DecodingError:
            self.init(undecodable: error, type: type, subject: "A value of type '\(Swift.type(of: value))'")
        case is CancellationError:
            self.init(code: .cancelled, message: "The step to '\(type)' was cancelled.")
        case let error:
            self.init(
                code: .dataFormat,
                message: "A value of type '\(Swift.type(of: value))' has not the form that the step to '\(type)' needs"
                    + (error.map { ": \(Swift.type(of: $0))." } ?? "."),
                cause: error
            )
        }
        if rejected == nil { rejected = value }
        if body == nil, let data = value as? Data { body = Array(data) }
    }
}
