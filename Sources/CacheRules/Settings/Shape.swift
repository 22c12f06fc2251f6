/// The values that a setting accepts in a file. `holdfast schema` makes a JSON Schema of it, and
/// `Expansion` learns from it where secrets are.
///
/// A shape never rejects a value that the setting's reader accepts. The reader also checks what a
/// shape cannot say, such as the upper limit of a duration.
package indirect enum Shape: Sendable {
    /// `true` or `false`, `on` or `off`, `yes` or `no`.
    case flag
    /// `off`, in any spelling.
    case off
    case integer(ClosedRange<Int>)
    /// A number from 0 to 1.
    case share
    /// A number with a unit of time: see ``Quantity``.
    case duration
    /// A number with a unit of size: see ``Quantity``.
    case size
    /// Octal permissions of a file.
    case permissions
    case text
    case word([String])
    /// A value, or a list of at least one value.
    case list(Shape)
    /// A list of at least one value.
    case sequence(Shape, limit: Int? = nil)
    /// A list that may be empty.
    case anyNumber(Shape)
    /// Known keys, and no others.
    case mapping([Member])
    /// Any keys, with values of one kind.
    case table(Shape)
    /// `{env: NAME}` or `{file: PATH}`.
    case secret
    /// Names of fields with text, `{env: NAME}` or `{file: PATH}`.
    case fields
    case either([Shape])

    /// A key of a mapping.
    package struct Member: Sendable {
        package let name: String
        package let shape: Shape
        package let isRequired: Bool
        /// The key of the description in `SettingDescriptions`.
        package let description: String

        package init(_ name: String, _ shape: Shape, isRequired: Bool = false, describedBy description: String = "") {
            self.name = name
            self.shape = shape
            self.isRequired = isRequired
            self.description = description
        }
    }

    /// The words of an enumeration.
    package static func words<Word: CaseIterable & RawRepresentable<String>>(of _: Word.Type) -> Shape {
        .word(Word.allCases.map(\.rawValue))
    }

    /// `off`, or a value.
    package static func orOff(_ shape: Shape) -> Shape { .either([.off, shape]) }

    /// Texts by name, or names alone: see ``Readers/valuesByName(_:_:)``.
    package static let valuesByName = Shape.either([.list(.text), .table(.list(.text))])
}
