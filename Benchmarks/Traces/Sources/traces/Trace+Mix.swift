import LibC

extension Trace {
    /// Generates requests. A mix and a seed always give the same ones.
    init(_ mix: Mix, requests count: Int, seed: UInt64) {
        var objects = Objects(random: SeededRandom(seed: seed), sizes: mix.sizes)
        let zipf = Zipf(count: mix.catalog, skew: mix.skew)
        var ranks = (0..<mix.catalog).map { _ in objects.add() }
        var night = mix.day > 0 ? ranks : []
        for index in night.indices.dropFirst().reversed() { night.swapAt(index, objects.random.below(index + 1)) }
        let scanned = mix.scanPeriod > 0 ? (0..<mix.scanLength).map { _ in objects.add() } : []
        var nextScanned = scanned.count
        var sinceScan = 0

        var requests: [Request] = []
        requests.reserveCapacity(count)
        while requests.count < count {
            sinceScan += 1
            if mix.scanPeriod > 0, sinceScan == mix.scanPeriod { (sinceScan, nextScanned) = (0, 0) }
            let key: Int64
            if nextScanned < scanned.count, objects.random.happens(0.8) {
                key = scanned[nextScanned]
                nextScanned += 1
            } else if objects.random.happens(mix.once) {
                key = objects.add()
            } else {
                let rank = zipf.draw(&objects.random)
                let isDay = mix.day == 0 || objects.random.happens(Self.daylight(requests.count, mix.day))
                key = isDay ? ranks[rank] : night[rank]
            }
            if objects.random.happens(mix.drift) {
                ranks.swapAt(zipf.draw(&objects.random), objects.random.below(mix.catalog))
            }
            if objects.random.happens(mix.churn) { ranks[zipf.draw(&objects.random)] = objects.add() }
            requests.append(objects.request(key))
        }
        self.init(name: mix.name, requests: requests)
    }

    private static func daylight(_ request: Int, _ day: Int) -> Double {
        0.5 + 0.5 * sin(2 * .pi * Double(request) / Double(day))
    }

    private struct Objects {
        var random: SeededRandom
        let sizes: Sizes
        private var known: [Int] = []

        init(random: SeededRandom, sizes: Sizes) {
            self.random = random
            self.sizes = sizes
        }

        mutating func add() -> Int64 {
            known.append(sizes.draw(&random))
            return Int64(known.count - 1)
        }

        func request(_ key: Int64) -> Request { Request(key: key, size: known[Int(key)]) }
    }
}
