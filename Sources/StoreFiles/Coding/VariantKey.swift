import HTTPCache
package import HTTPCacheSemantics
import HTTPTypes

/// The bytes that distinguish the variants of one key: the names in `Vary`, sorted, each with its
/// selecting values.
///
/// The encoding is canonical and length-prefixed, like the cache key. An absent field differs from
/// an empty one.
package enum VariantKey {
    /// Returns the variant's bytes; empty if the response does not vary.
    package static func bytes(of head: StoredResponseHead) -> [UInt8] {
        let names = names(of: head)
        guard !names.isEmpty else { return [] }
        var writer = ByteWriter(reservingCapacity: 64)
        for name in names {
            writer.write(prefixed: name)
            let values = HTTPField.Name(name).map { head.selectingFields[fields: $0] } ?? []
            writer.write(UInt32(truncatingIfNeeded: values.count))
            for value in values {
                value.withUnsafeBytesOfValue { writer.write(prefixed: $0) }
            }
        }
        return writer.bytes
    }

    /// Returns the names in `Vary`, in lowercase and sorted.
    package static func names(of head: StoredResponseHead) -> [String] {
        var names = head.selectingFields.map(\.name.canonicalName)
        for value in head.fields[values: .vary] {
            for part in value.utf8.split(separator: UInt8(ascii: ",")) {
                let name = part.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
                    .map { (65...90).contains($0) ? $0 | 0x20 : $0 }
                if !name.isEmpty { names.append(String(decoding: name, as: UTF8.self)) }
            }
        }
        names.sort()
        return names.reduce(into: []) { unique, name in
            if unique.last != name { unique.append(name) }
        }
    }
}
