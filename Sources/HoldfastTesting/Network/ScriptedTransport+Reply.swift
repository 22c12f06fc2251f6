public import HTTPCache
public import HTTPTypes
public import NIOCore

extension ScriptedTransport {
    /// A scripted response.
    public struct Reply: Sendable {
        /// The way a response ends.
        public enum Ending: Sendable {
            /// The body is complete.
            case complete
            /// There is no head; this error is thrown instead.
            case failure(TransportError)
            /// The body breaks off with this error after its chunks.
            case brokenOff(TransportError)
        }
        /// The status and fields.
        public var head: HTTPResponse
        /// The parts of the body.
        public var chunks: [ByteBuffer]
        /// The way the response ends.
        public var ending: Ending
        /// The delay of the head or the failure, on the transport's clock.
        public var delay: Duration?
        /// A gate to wait at before the head is delivered.
        public var beforeHead: Gate?
        /// A gate to wait at before the body ends.
        public var beforeEnd: Gate?

        /// Creates a response.
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

        /// Creates a 200 response with this content.
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

        /// Creates a response with another status.
        public static func status(_ status: HTTPResponse.Status, _ body: String = "", fields: HTTPFields = [:]) -> Reply
        {
            Reply(
                head: HTTPResponse(status: status, headerFields: fields),
                chunks: body.isEmpty ? [] : [ByteBuffer(string: body)]
            )
        }

        /// Creates a 304 response: the cache has the current representation. The stored response
        /// gets these fields. RFC 9111 §4.3.4
        public static func notModified(_ fields: HTTPFields = [:]) -> Reply {
            .status(.notModified, fields: fields)
        }

        /// Creates a failure without a response.
        public static func failure(_ code: TransportError.Code, beforeHead: Gate? = nil) -> Reply {
            Reply(
                head: HTTPResponse(status: .ok),
                ending: .failure(TransportError(code: code, message: "Scripted failure '\(code)'.")),
                beforeHead: beforeHead
            )
        }

        /// Returns the same response after a delay.
        public func delayed(by duration: Duration) -> Reply {
            var reply = self
            reply.delay = duration
            return reply
        }

        /// Returns the same response, broken off after this number of content bytes. By default,
        /// the origin closes the connection.
        ///
        /// If the response has `Content-Length`, the field does not change.
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

        /// Returns the body as a stream.
        ///
        /// - Parameter failure: called before each part. If it returns an error, the body breaks
        ///   off with that error.
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
