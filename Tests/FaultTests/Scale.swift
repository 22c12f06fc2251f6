import Foundation

/// How much is done: little in every run of the tests, much on demand (`make crash`).
enum Scale {
    /// Rounds of a kind, from the environment's `ROUNDS` (times `share` of it) where it is set.
    static func rounds(_ usual: Int) -> Int {
        guard let wanted = number("ROUNDS") else { return usual }
        return max(1, usual * Int(wanted) / 200)
    }

    /// The first seed: `SEED` in the environment replays a failure.
    static var seed: UInt64 { number("SEED") ?? 1 }

    /// Whether nothing is left out: `ROUNDS` asks for more than every run does.
    static var isThorough: Bool { (number("ROUNDS") ?? 0) > 200 }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}
