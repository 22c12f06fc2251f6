/// Sizes for people.
package enum ByteSize {
    /// Returns a size in its largest unit up to MiB: `642 B`, `12 KiB`, or with one decimal place,
    /// `85.9 MiB`.
    package static func text(_ bytes: Int64) -> String {
        if bytes < 1 << 10 { return "\(bytes) B" }
        if bytes < 1 << 20 { return "\(bytes >> 10) KiB" }
        let (whole, rest) = bytes.quotientAndRemainder(dividingBy: 1 << 20)
        let tenths = rest * 10 >> 20
        return tenths == 0 ? "\(whole) MiB" : "\(whole).\(tenths) MiB"
    }
}
