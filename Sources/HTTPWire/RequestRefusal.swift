/// The reason why a client's message is rejected, in any protocol.
package protocol RequestRefusal: Error {
    /// A code for programs, of hyphenated words.
    var code: String { get }
    /// The status of the response to the client.
    var status: Int { get }
}
