/// The bytes that delimit the parts of a message's head. RFC 9112 §2.2, §3
extension UInt8 {
    @inlinable package static var lineFeed: UInt8 { 0x0A }
    @inlinable package static var carriageReturn: UInt8 { 0x0D }
    @inlinable package static var space: UInt8 { 0x20 }
}
