/// Finds the end of a head without decoding it.
enum HeadEnd {
    /// Octets up to and with the first empty line; `nil` where there is none.
    ///
    /// Only CRLF counts as a line's end here; whether the lines are any good is the decoder's to judge.
    static func length(of octets: UnsafeRawBufferPointer) -> Int? {
        // At a place where the last of CR LF CR LF may be. What stands there says how far the next such place is.
        var index = 3
        while index < octets.count {
            switch octets[index] {
            case .lineFeed:
                if octets[index - 1] == .carriageReturn, octets[index - 2] == .lineFeed,
                    octets[index - 3] == .carriageReturn
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
