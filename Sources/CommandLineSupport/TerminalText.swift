extension String {
    /// Text that cannot disturb a terminal: control characters are shown as `\u{…}`.
    package var printable: String {
        guard unicodeScalars.contains(where: \.disturbsTerminals) else { return self }
        return unicodeScalars.reduce(into: "") { result, scalar in
            result += scalar.disturbsTerminals ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
    }

    /// With spaces behind it, up to a width.
    package func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension Unicode.Scalar {
    fileprivate var disturbsTerminals: Bool {
        switch properties.generalCategory {
        case .control: true
        // These reverse the following text; the two joiners do no harm, and many scripts need them.
        case .format: self != "\u{200C}" && self != "\u{200D}"
        default: false
        }
    }
}
