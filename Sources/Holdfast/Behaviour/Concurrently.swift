/// Does something with each element, so many at a time.
///
/// - Parameter limit: less than 1 counts as 1: with none at a time nothing would ever be done.
/// - Returns: the outcomes in the elements' order.
/// - Throws: what the first failure threw; the others are cancelled.
func concurrently<Element: Sendable, Outcome: Sendable>(
    _ elements: [Element],
    atMost limit: Int,
    _ body: @escaping @Sendable (Element) async throws -> Outcome
) async throws -> [Outcome] {
    let limit = max(limit, 1)
    return try await withThrowingTaskGroup(of: (index: Int, outcome: Outcome).self) { group in
        var outcomes = [Outcome?](repeating: nil, count: elements.count)
        for (index, element) in elements.enumerated() {
            // A place for each; beyond them one has to end before the next begins.
            if index >= limit, let done = try await group.next() { outcomes[done.index] = done.outcome }
            group.addTask { (index, try await body(element)) }
        }
        while let done = try await group.next() { outcomes[done.index] = done.outcome }
        return outcomes.compactMap { $0 }
    }
}
