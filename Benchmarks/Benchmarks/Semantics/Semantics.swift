import Benchmark
import Cases

/// What the semantics cost, a thousand times over: a result divided by that is one operation.
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
