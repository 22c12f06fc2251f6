/// How large the objects of a mix are. Sizes are lognormal, and say nothing about popularity.
enum Sizes {
    /// Answers of an API: 2 KB.
    case answers
    /// Pages, scripts and images: 12 KB, with a long tail.
    case pages
    /// Four thumbnails of 8 KB for each photo of 250 KB.
    case images
    /// A package mirror: lists of 30 KB, and archives of 80 KB with a very long tail.
    case packages

    func draw(_ random: inout SeededRandom) -> Int {
        switch self {
        case .answers: bounded(random.lognormal(median: 2_000, sigma: 1), 100...256 << 10)
        case .pages: bounded(random.lognormal(median: 12_000, sigma: 1.6), 200...8 << 20)
        case .images:
            random.happens(0.8)
                ? bounded(random.lognormal(median: 8_000, sigma: 0.7), 500...64 << 10)
                : bounded(random.lognormal(median: 250_000, sigma: 0.9), 20_000...8 << 20)
        case .packages:
            random.happens(0.35)
                ? bounded(random.lognormal(median: 30_000, sigma: 1.2), 500...4 << 20)
                : bounded(random.lognormal(median: 80_000, sigma: 1.9), 1_000...32 << 20)
        }
    }

    private func bounded(_ size: Double, _ range: ClosedRange<Int>) -> Int {
        Int(min(max(size, Double(range.lowerBound)), Double(range.upperBound)))
    }
}
