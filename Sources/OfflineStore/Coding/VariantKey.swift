package import HTTPCacheSemantics
import HTTPTypes

/// What tells the variants of one key apart: the names in `Vary`, sorted, each with its selecting values.
///
/// Canonical and length-prefixed, like the cache key; a field that was absent differs from one that was empty.
package enum VariantKey {
    /// No octets when the response does not vary.
    package static func octets(of head: StoredResponseHead) -> [UInt8] {
        let names = names(of: head)
        guard !names.isEmpty else { return [] }
        var writer = OctetWriter(reservingCapacity: 64)
        for name in names {
            writer.write(prefixed: name)
            let values = HTTPField.Name(name).map { head.selectingFields[fields: $0] } ?? []
            writer.write(UInt32(truncatingIfNeeded: values.count))
            for value in values {
                value.withUnsafeBytesOfValue { writer.write(prefixed: $0) }
            }
        }
        return writer.octets
    }

    /// The nominated names, in lower case and sorted.
    package static func names(of head: StoredResponseHead) -> [String] {
        var names = Set(head.selectingFields.map(\.name.canonicalName))
        for value in head.fields[values: .vary] {
            for name in value.split(separator: ",") {
                let trimmed = name.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }
                    .reversed()
                if !trimmed.isEmpty { names.insert(String(trimmed).lowercased()) }
            }
        }
        return names.sorted()
    }
}
