import Crypto

/// The number and the SHA-256 of bytes that arrive in parts, to check uploads of any size.
struct UploadDigest {
    private(set) var byteCount = 0
    private var hash = SHA256()

    mutating func add(_ bytes: some Collection<UInt8>) {
        byteCount += bytes.count
        // Received bytes are usually contiguous, and are then hashed in place.
        if bytes.withContiguousStorageIfAvailable({ hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }) == nil {
            hash.update(data: Array(bytes))
        }
    }

    var sha256: String { hexadecimal(hash.finalize()) }
}
