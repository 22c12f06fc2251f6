/// Sizes for people.
package enum ByteSize {
    /// Returns a size in MiB with one decimal place: `85.9 MiB`. A size that is not 0 is at least
    /// `0.1 MiB`.
    package static func text(_ bytes: Int64) -> String {
        guard bytes > 0 else { return "0 MiB" }
        let (whole, rest) = bytes.quotientAndRemainder(dividingBy: 1 << 20)
        let tenths = max(whole == 0 ? 1 : 0, rest * 10 >> 20)
        return tenths == 0 ? "\(whole) MiB" : "\(whole).\(tenths) MiB"
    }
}
