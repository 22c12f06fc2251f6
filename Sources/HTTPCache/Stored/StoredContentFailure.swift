/// An error of a store while a stored body is read, such as a damaged piece.
///
/// The head of the response has been sent by then, so the client gets a message that is visibly
/// incomplete, and the log names the store as the reason. RFC 9112 §8
package protocol StoredContentFailure: Error {}
