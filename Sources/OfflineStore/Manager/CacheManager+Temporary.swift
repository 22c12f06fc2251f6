import HTTPCache
package import HTTPCacheOperations
import LibC
import StoreFiles

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CacheManager: TemporaryStore {
    /// The maximum length of a setting's file, in bytes.
    private static let maximumSettingLength = 256 << 10

    /// Returns the value in the setting's file in the folder; `nil` if there is none.
    ///
    /// - Throws: ``StoreError``: `damaged` if the file contains no such value, `io`.
    package func temporary<Value>(_ type: Value.Type) throws -> Temporary<Value>? {
        let path = core.folder.path(ofSetting: Value.settingName)
        let bytes: [UInt8]
        do {
            let file = try StoreFiles.FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW)
            bytes = try file.read(count: Self.maximumSettingLength, at: 0)
        } catch let failure as SystemFailure {
            if failure.isMissing { return nil }
            throw failure.storeError()
        }
        do {
            return try JSONDecoder().decode(Temporary<Value>.self, from: Data(bytes))
        } catch {
            throw StoreError(
                code: .damaged,
                message:
                    "The file '\(path)' cannot be read. Remove it, or set the \(Value.settingName) again.",
                cause: error
            )
        }
    }

    /// Saves a value to the setting's file in the folder.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `full`, `unwritable`, `io`.
    package func keep<Value>(_ temporary: Temporary<Value>) throws {
        let path = try writablePath(Value.self)
        do {
            try core.folder.replace(path, with: Array(try JSONEncoder().encode(temporary)))
        } catch let failure as SystemFailure {
            throw failure.storeError()
        }
    }

    /// Removes the setting's file from the folder.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `unwritable`, `io`.
    package func forget<Value: KeptValue>(_ type: Value.Type) throws {
        let path = try writablePath(Value.self)
        do {
            try core.folder.remove(path)
        } catch let failure as SystemFailure {
            throw failure.storeError()
        }
    }

    private func writablePath<Value: KeptValue>(_: Value.Type) throws -> String {
        if isReadOnly {
            throw StoreError(
                code: .readOnly,
                message:
                    "The store '\(folder)' is open read-only, so it cannot keep the \(Value.settingName). Open the store for writing."
            )
        }
        return core.folder.path(ofSetting: Value.settingName)
    }
}
