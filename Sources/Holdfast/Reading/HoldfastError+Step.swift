public import HoldfastContent

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HoldfastError {
    /// Creates the error for a value that a step rejected.
    ///
    /// Use it for your own steps on emissions. For results, `step` creates this error.
    /// - Parameters:
    ///   - type: the type that the step should have produced.
    ///   - error: the step's error; `nil` if the step returned `nil`. A `HoldfastError` is used
    ///     unchanged.
    public init<Next>(rejecting value: some Sendable, for type: Next.Type, because error: (any Error)? = nil) {
        switch error {
        case let error as HoldfastError:
            self = error
        case let error as DecodingError:
            self.init(undecodable: error, type: type, subject: "A value of type '\(Swift.type(of: value))'")
        case is CancellationError:
            self.init(code: .cancelled, message: "The step to '\(type)' was canceled.")
        case let error:
            self.init(
                code: .dataFormat,
                message: "A value of type '\(Swift.type(of: value))' does not have the form "
                    + "that the step to '\(type)' needs"
                    + (error.map { ": \(Swift.type(of: $0))." } ?? "."),
                cause: error
            )
        }
        if rejected == nil { rejected = value }
        if body == nil, let data = value as? Data { body = Array(data) }
    }
}
