import Testing

/// Records an issue if a claim does not hold. In a fuzzer the function of this name ends the
/// process, because that is how libFuzzer notices.
///
/// The location has four parts: the files of the target functions do not import Testing, whose
/// macro would name it in one.
func require(
    _ holds: Bool,
    _ claim: @autoclosure () -> String,
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column
) {
    guard !holds else { return }
    Issue.record(
        "Broken claim: \(claim())",
        sourceLocation: SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    )
}
