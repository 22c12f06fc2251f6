import Foundation

/// The form of host names that requests contain: `xn--bcher-kva.example` for `bücher.example`.
/// RFC 3492, RFC 5890 §2.3.2.1
///
/// It is for advice only. The characters that IDNA forbids or maps are not checked.
enum Punycode {
    /// Returns a host with each label in ASCII; `nil` if it already is, or is too long for a name.
    static func name(_ host: String) -> String? {
        guard host.utf8.count <= 253, host.utf8.contains(where: { $0 >= 0x80 }) else { return nil }
        let labels = host.lowercased().precomposedStringWithCanonicalMapping
            .split(separator: ".", omittingEmptySubsequences: false)
        return labels.map { label in
            label.utf8.allSatisfy { $0 < 0x80 } ? String(label) : "xn--" + encoded(label)
        }.joined(separator: ".")
    }

    private static let (base, least, most, skew, damp): (UInt32, UInt32, UInt32, UInt32, UInt32) = (36, 1, 26, 38, 700)

    /// RFC 3492 §6.3. A host has at most 253 bytes, so no number overflows.
    private static func encoded(_ label: Substring) -> String {
        let scalars = label.unicodeScalars.map(\.value)
        var result = String(label.filter(\.isASCII))
        let first = UInt32(clamping: result.utf8.count)
        if first > 0 { result += "-" }
        var (code, delta, bias, handled): (UInt32, UInt32, UInt32, UInt32) = (0x80, 0, 72, first)
        while let next = scalars.filter({ $0 >= code }).min() {
            delta += (next - code) * (handled + 1)
            code = next
            for scalar in scalars {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                result += digits(of: delta, bias)
                bias = adapted(delta, to: handled + 1, isFirst: handled == first)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return result
    }

    private static func digits(of delta: UInt32, _ bias: UInt32) -> String {
        var (rest, place, result) = (delta, base, "")
        while true {
            let threshold = place <= bias ? least : min(most, place - bias)
            guard rest >= threshold else { return result + digit(rest) }
            result += digit(threshold + (rest - threshold) % (base - threshold))
            rest = (rest - threshold) / (base - threshold)
            place += base
        }
    }

    private static func digit(_ value: UInt32) -> Substring {
        "abcdefghijklmnopqrstuvwxyz0123456789".dropFirst(Int(clamping: value)).prefix(1)
    }

    /// RFC 3492 §6.1
    private static func adapted(_ delta: UInt32, to count: UInt32, isFirst: Bool) -> UInt32 {
        var (delta, places): (UInt32, UInt32) = (isFirst ? delta / damp : delta / 2, 0)
        delta += delta / count
        while delta > (base - least) * most / 2 {
            delta /= base - least
            places += base
        }
        return places + (base - least + 1) * delta / (delta + skew)
    }
}
