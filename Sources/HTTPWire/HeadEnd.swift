/// Finds the end of a head without decoding it.
package enum HeadEnd {
    /// Returns the number of bytes up to the end of the first empty line; `nil` if there is none.
    ///
    /// Only CRLF ends a line here. The decoder checks whether the lines are valid.
    package static func length(of bytes: UnsafeRawBufferPointer) -> Int? {
        // The index is where the last byte of CR LF CR LF may be. The byte there shows how far away
        // the next candidate is.
        var index = 3
        while index < bytes.count {
            switch bytes[index] {
            case .lineFeed:
                if bytes[index - 1] == .carriageReturn, bytes[index - 2] == .lineFeed,
                    bytes[index - 3] == .carriageReturn
                {
                    return index + 1
                }
                index += 2
            case .carriageReturn: index += 1
            default: index += 4
            }
        }
        return nil
    }
}
