/// The reason why a client's message is rejected, in any protocol.
package protocol RequestRefusal: Error {
    /// A code for programs, of hyphenated words.
    var code: String { get }
    /// The status of the response to the client.
    var status: Int { get }
    /// A sentence for the client that names the fault and, if there is one, the limit.
    var words: String { get }
    /// Whether a limit was exceeded, and the message may otherwise be valid.
    var isOfLimit: Bool { get }
    /// The setting of the limit that was exceeded; `nil` if there is none.
    var setting: String? { get }
}

extension RequestRefusal {
    /// No setting.
    package var setting: String? { nil }
}
