import CacheEviction
import LibC

/// Generates and replays traces:
///
///     traces generate FOLDER [REQUESTS [SEED]]   writes a file for each mix
///     traces replay FILE...                      prints the miss ratios, separated by tabs
///     traces store FILE...                       prints those of the policy on disk, the share of
///                                                its budget that it held, and the entries that it
///                                                examined and wrote for each victim
///     traces outages FILE...                     prints what a cost of misses does
///     traces check                               fails if a policy misses more than LRU
@main enum TraceCommand {
    /// The budgets, as shares of the bytes of all objects.
    private static let shares = [0.02, 0.1]
    /// How much more than LRU the policy may miss.
    private static let tolerance = 0.005

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "generate" where arguments.count > 1:
                try generate(
                    arguments[1],
                    requests: arguments.count > 2 ? Int(arguments[2]) ?? 0 : 400_000,
                    seed: arguments.count > 3 ? UInt64(arguments[3]) ?? 0 : 1
                )
            case "replay": for path in arguments.dropFirst() { replay(try Trace(path: path)) }
            case "store": for path in arguments.dropFirst() { replayStore(try Trace(path: path)) }
            case "outages": for path in arguments.dropFirst() { replayOutages(try Trace(path: path)) }
            case "check": exit(check() ? 0 : 1)
            default:
                fail(
                    "usage: traces generate FOLDER [REQUESTS [SEED]] | replay FILE... | store FILE... | outages FILE... | check",
                    status: 64
                )
            }
        } catch {
            fail("traces: \((error as? TraceError)?.message ?? "\(error)")", status: 1)
        }
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        let line = Array("\(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(status)
    }

    private static func generate(_ folder: String, requests: Int, seed: UInt64) throws {
        for (index, mix) in Mix.all.enumerated() {
            try Trace(mix, requests: requests, seed: seed &+ UInt64(index) &* 7919).write(to: folder)
        }
    }

    private static func replay(_ trace: Trace) {
        let bytes = trace.bytes
        for share in shares {
            let ratios = MissRatios(of: PolicyCache.self, budget: Int(Double(bytes) * share), on: trace)
            print(trace.name, share, ratios.objects, ratios.bytes, separator: "\t")
        }
    }

    private static func replayStore(_ trace: Trace) {
        let bytes = trace.bytes
        for share in shares {
            let budget = Int(Double(bytes) * share)
            var cache = StoreCache(budget: budget)
            let ratios = MissRatios(of: &cache, on: trace)
            let (examined, moved) = (cache.examined / max(1, cache.evicted), cache.moved * 100 / max(1, cache.evicted))
            print(
                trace.name,
                share,
                ratios.objects,
                ratios.bytes,
                cache.held,
                examined,
                Double(moved) / 100,
                separator: "\t"
            )
        }
    }

    private static func replayOutages(_ trace: Trace) {
        let bytes = trace.bytes
        for share in shares {
            for repeats in [false, true] {
                for (name, cost) in [("usual", MissCost.usual), ("onlyOfflineCopy", .onlyOfflineCopy)] {
                    let budget = Int(Double(bytes) * share)
                    let replay = OutageReplay(trace, budget: budget, cost: cost, repeats: repeats)
                    let kind = repeats ? "repeats" : "as usual"
                    print(trace.name, share, kind, name, replay.failed, replay.missed, separator: "\t")
                }
            }
        }
    }

    /// Replays a short trace of each mix. It is long enough for the policies to learn.
    private static func check() -> Bool {
        var isGood = true
        func compare(_ policy: MissRatios, _ lru: MissRatios, _ name: String) {
            if policy.objects <= lru.objects + tolerance, policy.bytes <= lru.bytes + tolerance { return }
            isGood = false
            print("\(name): objects \(policy.objects), LRU \(lru.objects);", terminator: " ")
            print("bytes \(policy.bytes), LRU \(lru.bytes)")
        }
        for (index, mix) in Mix.all.enumerated() {
            let trace = Trace(mix, requests: 200_000, seed: UInt64(index))
            let bytes = trace.bytes
            for share in shares {
                let budget = Int(Double(bytes) * share)
                let lru = MissRatios(of: LRUCache.self, budget: budget, on: trace)
                compare(MissRatios(of: PolicyCache.self, budget: budget, on: trace), lru, "\(mix.name) at \(share)")
                let store = MissRatios(of: StoreCache.self, budget: budget, on: trace)
                compare(store, lru, "\(mix.name) at \(share), store")
            }
        }
        return isGood
    }
}
