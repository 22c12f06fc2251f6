import Crypto

/// The number and the SHA-256 of bytes that arrive in parts, so that an upload of any size can be
/// checked.
struct UploadDigest {
    private(set) var byteCount = 0
    private var hash = SHA256()

    mutating func add(_ bytes: some Collection<UInt8>) {
        byteCount += bytes.count
        // Received bytes are contiguous, so they are hashed in place.
        if bytes.withContiguousStorageIfAvailable({ hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }) == nil {
            hash.update(data: Array(bytes))
        }
    }

    var sha256: String { hexadecimal(hash.finalize()) }
}
