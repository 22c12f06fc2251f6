/// A change of a stored value that can be undone; see ``CachingClient/update(_:encoder:_:)``.
public struct StoredUpdate<Value: Sendable>: Sendable {
    /// The value as it was stored; `nil` if no stored value could be changed.
    public let value: Value?
    /// `nil` if the update changed nothing.
    private let restore: (@Sendable () async throws -> Bool)?

    init(value: Value?, restore: (@Sendable () async throws -> Bool)? = nil) {
        self.value = value
        self.restore = restore
    }

    /// Restores the stored value as it was before the update, with its age and its validators.
    ///
    /// It does nothing if something newer is stored by now: the origin's response, or another
    /// update. If the value was invalidated meanwhile, it stays invalidated. A second call does
    /// nothing.
    ///
    /// - Returns: whether the former value was restored.
    /// - Throws: `StoreError` if the store cannot be written. Then the update stays.
    @discardableResult
    public func rollBack() async throws -> Bool { try await restore?() ?? false }
}
