package import HTTPCacheSemantics
import LibC
import LocalFiles

/// A file that contains a token. `SecretAccess` says who may have access.
package struct TokenFile: Sendable, Hashable {
    /// The file's path.
    package let path: String

    /// The name of the file that is created in the store's folder if no token is configured.
    package static let standardName = "control.token"

    /// Creates a reference to the file at a path.
    package init(path: String) { self.path = path }

    /// Reads the token.
    ///
    /// - Throws: `InvalidSetting` if the file cannot be read, if other users have access to it, or
    ///   if it contains no valid token.
    package func read(name: String, scope: ControlScope) throws(InvalidSetting) -> ControlToken {
        var text: [UInt8]
        do throws(LocalFile.Refusal) {
            text = try LocalFile.read(path, limit: ControlToken.maximumText + 2, isSecret: true)
        } catch {
            throw InvalidSetting("The token file '\(error.path)' \(error.message)")
        }
        while let last = text.last, last == 0x0A || last == 0x0D { text.removeLast() }
        let place = "The token file '\(path)'"
        return try ControlToken(name: name, scope: scope, text: String(decoding: text, as: UTF8.self), place: place)
    }

    /// Creates the file with a new token, unless it already exists.
    ///
    /// - Returns: whether the file was created.
    /// - Throws: `InvalidSetting` if the file cannot be created.
    package func makeIfMissing() throws(InvalidSetting) -> Bool {
        var status = stat()
        if lstat(path, &status) == 0 { return false }
        var random = SystemRandomNumberGenerator()
        let text = (0..<ControlToken.leastBytes).map { _ -> String in
            let byte = UInt8.random(in: .min ... .max, using: &random)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        // Rename the file only when the whole token is in it, so that a process that exits here
        // leaves no partial token.
        let draft = "\(path).\(getpid())"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw refusal("cannot be created: \(String(cString: strerror(errno))).") }
        let bytes = Array((text.joined() + "\n").utf8)
        let isWritten = write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        guard isWritten, rename(draft, path) == 0 else {
            unlink(draft)
            throw refusal("cannot be created: \(String(cString: strerror(isWritten ? errno : code))).")
        }
        return true
    }

    private func refusal(_ why: String) -> InvalidSetting { InvalidSetting("The token file '\(path)' \(why)") }
}
