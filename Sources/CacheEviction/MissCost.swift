/// The cost of a miss, compared with a usual one: a power of two.
package struct MissCost: Sendable, Equatable {
    /// The number of times that the cost is doubled.
    let doublings: UInt8

    /// The content can be fetched again.
    package static let usual = MissCost(doublings: 0)
    /// The entry is the only offline copy of content that was asked for during an outage. The next
    /// outage may ask for it again, and then nothing replaces it.
    package static let onlyOfflineCopy = MissCost(doublings: 1)
}
