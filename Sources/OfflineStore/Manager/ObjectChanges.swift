import HTTPCache
import StoreMemory

/// The values of one object over time: see ``CacheManager/changes(ofObject:as:coder:)``.
public struct ObjectChanges<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A value with its times; `nil` if there is none, or if it does not decode as this type.
    public typealias Element = StoredObject<Value>?

    fileprivate let store: CacheManager
    fileprivate let key: String
    fileprivate let coder: (any ObjectCoder)?

    /// Starts to watch the object.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Iterates over the values of an object.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The value that was returned last. An object that is stored again has another number.
        private enum Sight: Equatable {
            case nothing
            case missing
            case object(id: Int64, isDistrusted: Bool)
        }

        private let observed: ObjectChanges
        /// The stream of changes; `nil` after the end.
        private var changes: AsyncStream<ObjectChange>.AsyncIterator?
        private var last = Sight.nothing

        fileprivate init(_ observed: ObjectChanges) {
            self.observed = observed
            // Subscribe before the first value is read, so that no change in between is missed.
            let key = Array(observed.key.utf8)
            changes = observed.store.core.objectChanges.changes(limit: 1) { $0.concerns(key) }.makeAsyncIterator()
        }

        /// Returns the current value first, and then the value after each change; `nil` at the end.
        public mutating func next() async throws -> Element? {
            do {
                while changes != nil {
                    if last != .nothing, await changes?.next(isolation: #isolation) == nil { break }
                    if Task.isCancelled { break }
                    let found = try await observed.store.loadObject(forKey: observed.key)
                    let sight = found.map { Sight.object(id: $0.id, isDistrusted: $0.isDistrusted) } ?? .missing
                    if sight == last { continue }
                    last = sight
                    return .some(observed.value(of: found))
                }
            } catch let error as StoreError where error.code == .closed {
            } catch {
                changes = nil
                throw error
            }
            changes = nil
            return nil
        }
    }

    private func value(of object: LoadedObject?) -> Element {
        guard let object, let value = store.decode(Value.self, object, key: key, coder: coder) else { return nil }
        return object.stored(value, at: store.now())
    }
}

extension CacheManager {
    /// Returns the value of a key now, and again after each change.
    ///
    /// ```swift
    /// for try await draft in store.changes(ofObject: "draft/7", as: Draft.self) {
    ///     show(draft?.value)
    /// }
    /// ```
    ///
    /// * **First**: the value that is stored when the iteration begins, or `nil` if there is none.
    /// * **Then**: the value after each change. Storing an equal value is a change, because its
    ///   times are new. `nil` after a removal or an eviction.
    /// * **Pace**: a slow loop skips values and sees the newest next. No value waits in memory.
    /// * **Expiry** is not a change: nothing is emitted at that instant. Values of any age are
    ///   emitted. Their ``StoredObject/isExpired`` is as of that time, and
    ///   ``StoredObject/expiresAt`` says when a value will expire.
    /// * **End**: when the store is closed, or when the task that iterates is canceled.
    ///
    /// In a process that only reads, changes arrive within ``Configuration/changeInterval``. The
    /// process polls only while there is an iteration.
    ///
    /// - Parameter coder: the configuration's coder by default, as for
    ///   ``storedObject(_:forKey:coder:)``.
    /// - Returns: a sequence that throws ``StoreError`` if the value cannot be read: `invalidKey`,
    ///   `damaged`, `io`. Each iteration is independent.
    public func changes<Value: Decodable & Sendable>(
        ofObject key: String,
        as type: Value.Type = Value.self,
        coder: (any ObjectCoder)? = nil
    ) -> ObjectChanges<Value> {
        ObjectChanges(store: self, key: key, coder: coder)
    }

    /// Returns the object of a key, not decoded.
    @concurrent
    fileprivate func loadObject(forKey key: String) async throws -> LoadedObject? {
        try await object(forKey: Self.bytes(ofKey: key))
    }
}
