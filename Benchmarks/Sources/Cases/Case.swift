/// One operation that is measured.
public struct Case: Sendable {
    /// What it is, for people; unique.
    public let name: String
    /// Does it so many times.
    ///
    /// The loop is in here so that what surrounds the operation is one call, which nothing can be
    /// optimised across.
    public let run: @Sendable (Int) -> Void

    /// All of them, in the order in which they are shown.
    public static let all: [Case] = policyCases() + keyCases() + fieldCases()
}

extension Array where Element == Case {
    /// Adds a case; what it answers is kept, so that it is not optimised away.
    mutating func measure<Answer>(_ name: String, _ body: @escaping @Sendable () -> Answer) {
        append(
            Case(name: name) { count in
                for _ in 0..<count { keep(body()) }
            }
        )
    }
}

/// Where an answer ends: the optimiser may not know that nothing is done with it.
@inline(never)
@_optimize(none)
private func keep<Answer>(_ answer: Answer) {}
