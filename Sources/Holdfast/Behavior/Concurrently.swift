/// Runs `body` for each element, with a limited number of concurrent runs.
///
/// - Parameter limit: less than 1 is treated as 1, because with 0 no element would ever run.
/// - Returns: the outcomes in the elements' order.
/// - Throws: the first error; the other runs are canceled.
func concurrently<Element: Sendable, Outcome: Sendable>(
    _ elements: [Element],
    atMost limit: Int,
    _ body: @escaping @Sendable (Element) async throws -> Outcome
) async throws -> [Outcome] {
    let limit = max(limit, 1)
    return try await withThrowingTaskGroup(of: (index: Int, outcome: Outcome).self) { group in
        var outcomes = [Outcome?](repeating: nil, count: elements.count)
        for (index, element) in elements.enumerated() {
            // At the limit, one run must end before the next begins.
            if index >= limit, let done = try await group.next() { outcomes[done.index] = done.outcome }
            group.addTask { (index, try await body(element)) }
        }
        while let done = try await group.next() { outcomes[done.index] = done.outcome }
        return outcomes.compactMap { $0 }
    }
}
