import Benchmark
import Cases

/// Measures the semantics, a thousand operations at a time: divide a result by a thousand for one.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = Benchmark.Configuration(
        metrics: [.wallClock, .throughput],
        warmupIterations: 20,
        scalingFactor: .kilo,
        maxDuration: .seconds(1),
        maxIterations: 100_000
    )
    for known in Case.all {
        Benchmark(known.name) { benchmark in known.run(benchmark.scaledIterations.count) }
    }
}
