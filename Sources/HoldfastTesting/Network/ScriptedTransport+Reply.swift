public import HTTPCache
public import HTTPTypes
public import NIOCore

extension ScriptedTransport {
    /// One response.
    public struct Reply: Sendable {
        /// How the response ends.
        public enum Ending: Sendable {
            /// The body is complete.
            case complete
            /// Without a head: this error is thrown instead.
            case failure(TransportError)
            /// The body breaks off after its chunks.
            case brokenOff(TransportError)
        }
        /// Status and fields.
        public var head: HTTPResponse
        /// The body's parts.
        public var chunks: [ByteBuffer]
        /// See ``Ending``.
        public var ending: Ending
        /// How long the head, or the failure, is delayed, by the transport's clock.
        public var delay: Duration?
        /// Waits before the head is delivered.
        public var beforeHead: Gate?
        /// Waits before the body ends.
        public var beforeEnd: Gate?

        /// A response.
        public init(
            head: HTTPResponse,
            chunks: [ByteBuffer] = [],
            ending: Ending = .complete,
            delay: Duration? = nil,
            beforeHead: Gate? = nil,
            beforeEnd: Gate? = nil
        ) {
            self.head = head
            self.chunks = chunks
            self.ending = ending
            self.delay = delay
            self.beforeHead = beforeHead
            self.beforeEnd = beforeEnd
        }

        /// A 200 with this content.
        public static func ok(
            _ body: String,
            fields: HTTPFields = [:],
            beforeHead: Gate? = nil,
            beforeEnd: Gate? = nil
        ) -> Reply {
            Reply(
                head: HTTPResponse(status: .ok, headerFields: fields),
                chunks: body.isEmpty ? [] : [ByteBuffer(string: body)],
                beforeHead: beforeHead,
                beforeEnd: beforeEnd
            )
        }

        /// Another status.
        public static func status(_ status: HTTPResponse.Status, _ body: String = "", fields: HTTPFields = [:]) -> Reply
        {
            Reply(
                head: HTTPResponse(status: status, headerFields: fields),
                chunks: body.isEmpty ? [] : [ByteBuffer(string: body)]
            )
        }

        /// A 304: the cache has the current representation. The stored response gets these fields.
        /// RFC 9111 §4.3.4
        public static func notModified(_ fields: HTTPFields = [:]) -> Reply {
            .status(.notModified, fields: fields)
        }

        /// No response.
        public static func failure(_ code: TransportError.Code, beforeHead: Gate? = nil) -> Reply {
            Reply(
                head: HTTPResponse(status: .ok),
                ending: .failure(TransportError(code: code, message: "Scripted failure '\(code)'.")),
                beforeHead: beforeHead
            )
        }

        /// The same response, later.
        public func delayed(by duration: Duration) -> Reply {
            var reply = self
            reply.delay = duration
            return reply
        }

        /// The same response, which breaks off after this number of bytes of its content. By
        /// default, the origin closed the connection.
        ///
        /// Its `Content-Length`, if it has one, stays as it is.
        public func truncated(after bytes: Int, _ code: TransportError.Code = .connectionClosed) -> Reply {
            var reply = self
            var rest = bytes
            reply.chunks = chunks.compactMap { chunk in
                defer { rest -= min(rest, chunk.readableBytes) }
                return rest > 0 ? chunk.getSlice(at: chunk.readerIndex, length: min(rest, chunk.readableBytes)) : nil
            }
            reply.ending = .brokenOff(
                TransportError(code: code, message: "Scripted failure '\(code)' after \(bytes) bytes.")
            )
            return reply
        }

        /// The stream of the body.
        ///
        /// - Parameter failure: called before each part; an error that it returns breaks off the
        ///   body.
        func body(unless failure: @escaping @Sendable () -> TransportError?) -> BodyStream {
            BodyStream {
                var rest = chunks[...]
                return {
                    if let failure = failure() { throw failure }
                    if let chunk = rest.popFirst() { return chunk }
                    if let gate = beforeEnd { try await gate.wait() }
                    if let failure = failure() { throw failure }
                    if case .brokenOff(let error) = ending { throw error }
                    return nil
                }
            }
        }
    }
}
