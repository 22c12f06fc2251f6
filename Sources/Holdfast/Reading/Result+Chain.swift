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
    /// The value of a success taken one step further.
    ///
    /// ```swift
    /// let title = result.step(.dictionary).step { $0["title"]?.text }
    /// ```
    /// A step that returns `nil`, or throws something else than ``HoldfastError``, found the value
    /// not in the form it needs: a failure with code `dataFormat`, or `decodingFailed` for an error
    /// of a decoder. The failure keeps the value in ``HoldfastError/rejected``, and in
    /// ``HoldfastError/body`` where it is bytes.
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

    /// The value of a success taken one step further, by a step that has a name; see
    /// ``ResultStep``.
    public func step<Next>(_ step: ResultStep<Success, Next>) -> Result<Next, HoldfastError> {
        self.step { try step.take($0) }
    }
}
