import HTTPCacheSemantics
import HTTPTypes

@testable import StoreFiles

/// The bytes of a store's head columns, with a corrected checksum. A decoded head encodes to bytes
/// that decode to the same head.
func storedHead(_ bytes: UnsafeBufferPointer<UInt8>) {
    let binding = HeadBinding(entryID: 1, keyHash: 2, bodyID: 3, bodyLength: 4)
    _ = StoredHeadCodec.decode(Array(bytes), binding: binding)
    let sealed = binding.sealing(Array(bytes))
    if let head = StoredHeadCodec.decode(sealed, binding: binding) {
        let written = StoredHeadCodec.encode(head, binding: binding)
        guard let again = StoredHeadCodec.decode(written, binding: binding) else {
            return require(false, "a head that was read cannot be written")
        }
        require(again == head, "a head changes when it is written")
        require(StoredHeadCodec.encode(again, binding: binding) == written, "a head is written in two ways")
        let elsewhere = HeadBinding(entryID: 1, keyHash: 2, bodyID: 5, bodyLength: 4)
        require(StoredHeadCodec.decode(sealed, binding: elsewhere) == nil, "a head belongs to two bodies")
        _ = VariantKey.bytes(of: head)
    }
    if let head = ObjectHeadCodec.decode(sealed, binding: binding) {
        let written = ObjectHeadCodec.encode(head, binding: binding)
        let again = ObjectHeadCodec.decode(written, binding: binding)
        require(again == head, "an object's head changes when it is written")
    }
}

extension ObjectHeadCodec {
    fileprivate static func decode(_ bytes: [UInt8], binding: HeadBinding) -> ObjectHead? {
        bytes.withUnsafeBytes { decode($0, binding: binding) }
    }
}
