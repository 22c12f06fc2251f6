/// Returns whether an `Accept-Encoding` field allows a coding: RFC 9110 §12.5.3.
///
/// By the RFC, an absent field allows every coding. Here, it allows none, because none was
/// requested.
func accepts(_ coding: String, field: String?) -> Bool {
    var others = false
    for range in (field ?? "").split(separator: ",") {
        let parts = range.split(separator: ";").map { String($0).trimmed.lowercased() }
        let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        switch parts.first {
        // `x-gzip` means the same as `gzip` (§8.4.1.3).
        case coding, "x-" + coding: return weight > 0
        case "*": others = weight > 0
        default: break
        }
    }
    return others
}
