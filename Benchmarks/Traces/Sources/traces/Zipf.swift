import LibC

/// Ranks, where rank k is drawn with a probability proportional to 1/(k + 1)^skew.
struct Zipf {
    private let cumulated: [Double]

    init(count: Int, skew: Double) {
        var sum = 0.0
        cumulated = (1...count).map { rank in
            sum += pow(Double(rank), -skew)
            return sum
        }
    }

    func draw(_ random: inout SeededRandom) -> Int {
        let point = random.unit() * cumulated[cumulated.count - 1]
        var (low, high) = (0, cumulated.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if cumulated[middle] < point { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
