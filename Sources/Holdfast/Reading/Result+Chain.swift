extension Result where Failure == HoldfastError {
    /// Calls `body` with the value of a success.
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

    /// Calls `body` with the error of a failure.
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
    /// A step rejects a value by returning `nil` or by throwing. That is a failure with code
    /// `dataFormat`, or `decodingFailed` for an error of a decoder; a ``HoldfastError`` stays as it
    /// is. The failure keeps the value in ``HoldfastError/rejected``, and in ``HoldfastError/body``
    /// if it is bytes.
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

    /// Transforms the value of a success by a named step; see ``ResultStep``.
    public func step<Next>(_ step: ResultStep<Success, Next>) -> Result<Next, HoldfastError> {
        self.step { try step.transform($0) }
    }
}
