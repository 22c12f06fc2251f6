/// A change of a stored value that can be taken back; see ``CachingClient/update(_:encoder:_:)``.
public struct StoredUpdate<Value: Sendable>: Sendable {
    /// The value as it was stored; `nil` where nothing was stored that could be changed.
    public let value: Value?
    /// `nil` where the update changed nothing.
    private let restore: (@Sendable () async throws -> Bool)?

    init(value: Value?, restore: (@Sendable () async throws -> Bool)? = nil) {
        self.value = value
        self.restore = restore
    }

    /// Puts the stored value back as it was before the update, with its age and its validators.
    ///
    /// It does nothing where something newer is stored by now: the origin's response, or another
    /// update. That it was invalidated meanwhile stays so. A second call does nothing.
    ///
    /// - Returns: whether the former value is back.
    /// - Throws: `StoreError`: the store cannot be written. Then the update stays.
    @discardableResult
    public func rollBack() async throws -> Bool { try await restore?() ?? false }
}
