/// The bytes that delimit the parts of a message's head. RFC 9112 §2.2, §3
extension UInt8 {
    static let lineFeed = UInt8(0x0A)
    static let carriageReturn = UInt8(0x0D)
    static let space = UInt8(0x20)
}
