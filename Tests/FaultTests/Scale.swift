import Foundation

/// The amount of work: little in every run of the tests, much on demand (`make crash`).
enum Scale {
    /// Returns the number of rounds, scaled by `ROUNDS` in the environment if it is set.
    static func rounds(_ usual: Int) -> Int {
        guard let wanted = number("ROUNDS") else { return usual }
        return max(1, usual * Int(wanted) / 200)
    }

    /// The number of backups that are killed at random: few, or `BACKUPS` in the environment.
    static var backups: Int { number("BACKUPS").map { Int($0) } ?? 5 }

    /// The first seed: `SEED` in the environment replays a failure.
    static var seed: UInt64 { number("SEED") ?? 1 }

    /// Whether every operation is tested: `ROUNDS` is larger than in a normal run.
    static var isThorough: Bool { (number("ROUNDS") ?? 0) > 200 }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}
