/// Finds the end of a head without decoding it.
enum HeadEnd {
    /// Bytes up to and with the first empty line; `nil` where there is none.
    ///
    /// Only CRLF counts as a line's end here; whether the lines are any good is the decoder's to
    /// judge.
    static func length(of bytes: UnsafeRawBufferPointer) -> Int? {
        // At a place where the last of CR LF CR LF may be. What stands there says how far the next
        // such place is.
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
