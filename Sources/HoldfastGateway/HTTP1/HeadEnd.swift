/// Finds the end of a head without decoding it.
enum HeadEnd {
    /// The bytes up to the end of the first empty line; `nil` if there is none.
    ///
    /// Only CRLF ends a line here. The decoder judges if the lines are valid.
    static func length(of bytes: UnsafeRawBufferPointer) -> Int? {
        // The index is at a place where the last byte of CR LF CR LF may be. The byte there decides
        // how far away the next such place is.
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
