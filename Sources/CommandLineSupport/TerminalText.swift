extension String {
    /// The text in a form that is safe for terminals: control characters are shown as `\u{…}`.
    package var printable: String {
        guard unicodeScalars.contains(where: \.disturbsTerminals) else { return self }
        return unicodeScalars.reduce(into: "") { result, scalar in
            result += scalar.disturbsTerminals ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
    }

    /// Returns the text with trailing spaces, up to a width.
    package func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension Unicode.Scalar {
    fileprivate var disturbsTerminals: Bool {
        switch properties.generalCategory {
        case .control: true
        // These characters can reverse the following text. The two joiners are harmless, and many
        // scripts need them.
        case .format: self != "\u{200C}" && self != "\u{200D}"
        default: false
        }
    }
}
