/// The place of a setting, route or rule, for a message about another one.
package struct Place: CustomStringConvertible {
    private let file: String?
    private let line: Int

    /// - Parameter from: the file that the message is about. It is not named again.
    package init(_ file: String?, _ line: Int, from: String?) {
        self.file = file == from ? nil : file
        self.line = line
    }

    /// `line 3`, or `conf.d/shop.yaml:3` for another file.
    package var description: String { file.map { "\($0):\(line)" } ?? "line \(line)" }

    /// The place after a verb or a noun: `on line 3`, `at conf.d/shop.yaml:3`.
    package var after: String { (file == nil ? "on " : "at ") + description }
}
