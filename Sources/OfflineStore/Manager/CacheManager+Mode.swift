import Foundation
public import HTTPCache

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension CacheManager: ModeStore {
    /// The most bytes of the file that keeps a mode.
    private static let maximumModeLength = 64 << 10

    /// The mode that is kept in the folder's file `mode`; `nil` if there is none.
    ///
    /// - Throws: ``StoreError``: `damaged` if the file holds no mode, `io`.
    public func temporaryMode() throws -> TemporaryMode? {
        let bytes: [UInt8]
        do {
            let file = try FileHandle(path: core.folder.modePath, flags: O_RDONLY | O_NOFOLLOW)
            bytes = try file.read(count: Self.maximumModeLength, at: 0)
        } catch let failure as SystemFailure {
            if failure.isMissing { return nil }
            throw failure.storeError
        }
        do {
            return try JSONDecoder().decode(TemporaryMode.self, from: Data(bytes))
        } catch {
            throw StoreError(
                code: .damaged,
                message: "The file '\(core.folder.modePath)' holds no mode. Remove it, or set a mode again.",
                cause: error
            )
        }
    }

    /// Keeps a mode in the folder's file `mode`, or removes the file.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `full`, `unwritable`, `io`.
    public func keep(_ mode: TemporaryMode?) throws {
        if isReadOnly {
            throw StoreError(
                code: .readOnly,
                message: "The store '\(folder)' was opened for reading alone, so it keeps no mode."
            )
        }
        do {
            guard let mode else { return try core.folder.remove(core.folder.modePath) }
            try core.folder.replace(core.folder.modePath, with: Array(try JSONEncoder().encode(mode)))
        } catch let failure as SystemFailure {
            throw failure.storeError
        }
    }
}
