/// The result of a change to a stored value; see ``CachingClient/update(_:encoder:_:)``.
public struct StoredUpdate<Value: Sendable>: Sendable {
    /// The value as stored; `nil` if no stored value could be changed.
    public let value: Value?
    /// Restores the previous value; `nil` if the update changed nothing.
    private let restore: (@Sendable () async throws -> Bool)?

    init(value: Value?, restore: (@Sendable () async throws -> Bool)? = nil) {
        self.value = value
        self.restore = restore
    }

    /// Restores the stored value as it was before the update, with its age and its validators.
    ///
    /// If a newer response or another update has been stored in the meantime, this does nothing. If
    /// the value has been invalidated in the meantime, it stays invalidated. A second call does
    /// nothing.
    ///
    /// - Returns: whether the previous value was restored.
    /// - Throws: `StoreError` if the store cannot be written. In that case, the update stays.
    @discardableResult
    public func rollBack() async throws -> Bool { try await restore?() ?? false }
}
