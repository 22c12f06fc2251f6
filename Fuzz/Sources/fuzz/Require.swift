/// Ends the process if a claim does not hold. A replay has a function of the same name, which
/// records an issue instead.
func require(_ holds: Bool, _ claim: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line) {
    if !holds { fatalError("Broken claim: \(claim())", file: file, line: line) }
}
