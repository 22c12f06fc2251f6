/// One operation that is measured.
public struct Case: Sendable {
    /// The case's unique name, for people.
    public let name: String
    /// Does the operation that many times.
    ///
    /// The loop is in here so that its caller makes one call, across which nothing can be
    /// optimized.
    public let run: @Sendable (Int) -> Void

    /// All cases, in the order in which they are shown.
    public static let all: [Case] = policyCases() + keyCases() + fieldCases()
}

extension Array where Element == Case {
    /// Adds a case. Its result is kept, so that the work is not optimized away.
    mutating func measure<Result>(_ name: String, _ body: @escaping @Sendable () -> Result) {
        append(
            Case(name: name) { count in
                for _ in 0..<count { keep(body()) }
            }
        )
    }
}

/// Takes a result, so that the optimizer does not know that it is unused.
@inline(never)
@_optimize(none)
private func keep<Result>(_ result: Result) {}
