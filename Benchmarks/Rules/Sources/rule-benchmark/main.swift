import HTTPCache
import HTTPTypes
import HoldfastConfiguration

// rule-benchmark [--check]: measures the time to find the rules of a request, with 1, 100 and
// 10,000 rules, for a new and for a remembered target. It prints a table.

/// Each rule matches its own service below one of ten hosts; the last one matches everything.
func yaml(_ count: Int) -> String {
    var text = "version: 1\nrules:\n"
    for number in 0..<(count - 1) {
        text +=
            "  - name: rule-\(number)\n    match: {url: \"https://h\(number % 10).example/service-\(number)/**/items/*\"}\n"
        text += "    freshness: {lifetime: \(number + 1) s}\n    tags: [t\(number)]\n"
    }
    return text + "  - name: all\n    match: {url: \"https://*.example/**\"}\n    stale: {unreachable: 7 d}\n"
}

func requests(_ count: Int, rules: Int) -> [HTTPRequest] {
    (0..<count).map { number in
        let rule = number % max(1, rules - 1)
        return HTTPRequest(
            method: .get,
            scheme: "https",
            authority: "h\(rule % 10).example",
            path: "/service-\(rule)/region/eu-\(number)/items/\(number)?page=\(number % 7)"
        )
    }
}

/// The time of one of `count` operations in nanoseconds: the median and the best of some runs.
func nanoseconds(_ count: Int, runs: Int, _ body: () throws -> Void) rethrows -> (median: Double, best: Double) {
    let clock = ContinuousClock()
    var times: [Double] = []
    for _ in 0..<runs {
        let time = try clock.measure(body)
        times.append(Double(time.components.seconds) * 1e9 + Double(time.components.attoseconds) / 1e9)
    }
    times.sort()
    return (times[runs / 2] / Double(count), times[0] / Double(count))
}

/// Keeps the optimizer from removing the work.
@inline(never) @_optimize(none) func keep<Value>(_ value: Value) {}

/// The limit in nanoseconds for a remembered target, which every hit looks up.
let limit = 1000.0
var isMissed = false
print("| Rules | first sight, ns | remembered, ns | fastest, ns | loading, ms |\n|--:|--:|--:|--:|--:|")
for count in [1, 100, 10_000] {
    let text = yaml(count)
    let loading = try nanoseconds(1, runs: count > 1000 ? 3 : 9) {
        keep(try Configuration(yaml: text, environment: [:]))
    }
    // More targets than are remembered, so that each is new.
    let fresh = requests(20_000, rules: count)
    var firsts: [Double] = []
    for _ in 0..<5 {
        let configuration = try Configuration(yaml: text, environment: [:])
        // Warm up: the work that is done once for each rule must not be measured.
        for request in fresh where request.path?.hasSuffix("?page=0") == true {
            keep(configuration.rules.decisions(for: request, contentType: nil))
        }
        firsts.append(
            nanoseconds(fresh.count, runs: 1) { for request in fresh { keep(configuration.rules.rules(for: request)) } }
                .median
        )
    }
    firsts.sort()
    let configuration = try Configuration(yaml: text, environment: [:])
    let known = requests(1000, rules: count)
    for request in known { keep(configuration.rules.rules(for: request)) }
    let remembered = nanoseconds(known.count * 20, runs: 15) {
        for _ in 0..<20 { for request in known { keep(configuration.rules.rules(for: request)) } }
    }
    if remembered.median >= limit { isMissed = true }
    let row = [firsts[2], remembered.median, remembered.best].map { "\(Int($0.rounded()))" }
    print("| \(count) | \(row.joined(separator: " | ")) | \((loading.median / 1e5).rounded() / 10) |")
}
if CommandLine.arguments.contains("--check"), isMissed { fatalError("What is remembered takes \(limit) ns or more.") }
