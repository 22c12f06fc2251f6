import ArgumentParser

/// Reads the numbers of options. The parser's own error does not say what is expected.
package enum WholeNumber {
    /// - Throws: `ValidationError`
    package static func read<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw ValidationError("It must be a whole number.") }
        return number
    }
}
