public import HoldfastContent

extension Result where Failure == HoldfastError {
    /// Calls `body` with the value if the result is a success.
    ///
    /// ```swift
    /// result.onSuccess { show($0) }.onFailure { report($0) }
    /// ```
    /// - Returns: this result.
    @discardableResult
    public func onSuccess(_ body: (Success) throws -> Void) rethrows -> Self {
        if case .success(let value) = self { try body(value) }
        return self
    }

    /// Calls `body` with the error if the result is a failure.
    ///
    /// - Returns: this result.
    @discardableResult
    public func onFailure(_ body: (HoldfastError) throws -> Void) rethrows -> Self {
        if case .failure(let error) = self { try body(error) }
        return self
    }
}

extension Result where Failure == HoldfastError, Success: Sendable {
    /// Transforms the value of a success by a step.
    ///
    /// ```swift
    /// let title = result.step(.dictionary).step { $0["title"]?.text }
    /// ```
    /// A step rejects a value by returning `nil` or by throwing. The result is then a failure with
    /// code `decodingFailed` if a decoder failed, and `dataFormat` otherwise. If the step throws a
    /// `HoldfastError`, that error is kept unchanged. `HoldfastError.rejected` holds the value.
    /// If the value is bytes, `HoldfastError.body` holds it, too.
    public func step<Next>(_ transform: (Success) throws -> Next?) -> Result<Next, HoldfastError> {
        flatMap { value in
            do {
                if let next = try transform(value) { return .success(next) }
                return .failure(HoldfastError(rejecting: value, for: Next.self))
            } catch {
                return .failure(HoldfastError(rejecting: value, for: Next.self, because: error))
            }
        }
    }

    /// Transforms the value of a success by a named step: see ``ResultStep``.
    public func step<Next>(_ step: ResultStep<Success, Next>) -> Result<Next, HoldfastError> {
        self.step { try step.transform($0) }
    }
}
