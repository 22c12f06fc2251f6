import HTTPCache
import StoreFiles
import StoreMemory

extension PendingWrites {
    /// Returns the responses of a key combined with the responses being written, each of which
    /// replaces its own variant.
    func merged(_ responses: [StoredResponse], with values: [MemoryValue]) -> [StoredResponse] {
        var merged = responses
        for case .responses(let written) in values {
            for response in written {
                let variant = VariantKey.bytes(of: response.head)
                merged.removeAll { VariantKey.bytes(of: $0.head) == variant }
                merged.append(response)
            }
        }
        return merged
    }
}
