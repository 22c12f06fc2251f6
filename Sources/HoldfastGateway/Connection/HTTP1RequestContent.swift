import EventLoops
import HTTPWire
import NIOCore

/// The content of the requests on a client's HTTP/1 connection, as their exchanges ask for it, and
/// the rate at which it must arrive. Used on the connection's event loop.
final class HTTP1RequestContent: RequestContent {
    private let service: GatewayService
    private let eventLoop: any EventLoop
    private let reads: ClientReads
    private let output: ConnectionOutput
    /// `nil` before the connection opens and after it ends.
    var requests: RequestSequence?
    /// The piece that the exchange is waiting for, and the time since which it waits.
    private var wanted: EventLoopPromise<ContentDecoder.Event>?
    private var wantedAt = NIODeadline.now()
    private var pace: UploadPace

    init(service: GatewayService, on eventLoop: any EventLoop, _ reads: ClientReads, _ output: ConnectionOutput) {
        self.service = service
        self.eventLoop = eventLoop
        self.reads = reads
        self.output = output
        let configuration = service.configuration
        pace = UploadPace(rate: configuration.uploadRate, patience: configuration.timeouts.slowContent.timeAmount)
    }

    /// Prepares for the content of the next request.
    func begin() { pace.restart(rate: service.configuration.uploadRate) }

    /// Fails a wait for content, because the exchange is over or the connection has ended.
    func end() { wanted.take()?.fail(CancellationError()) }

    // MARK: Calls from the exchange

    func nextContent() -> EventLoopFuture<ContentDecoder.Event>? {
        guard let requests, wanted == nil else { return nil }
        let promise = eventLoop.makePromise(of: ContentDecoder.Event.self)
        wanted = promise
        wantedAt = .now()
        reads.expect(.content, within: pace.allowance)
        perform(requests.wantContent())
        return promise.futureResult
    }

    func discardContent() { requests?.discardContent() }

    // MARK: Decisions of the machine

    func perform(_ action: ConnectionMachine.ContentAction) {
        switch action {
        case .hand(let event):
            reads.stop()
            if case .body(let bytes) = event {
                pace.record(bytes.readableBytes, after: .now() - wantedAt)
                requests?.countContent(bytes.readableBytes)
            }
            wanted.take()?.succeed(event)
        case .fail(let refusal):
            fail(refusal)
        case .read:
            reads.read()
        case .sayContinue:
            output.put(Self.continueHead)
            output.flush()
            reads.read()
        }
    }

    private static let continueHead = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    /// Fails a wait for content that will not arrive.
    func fail(_ refusal: MessageRefusal) {
        reads.stop()
        wanted.take()?.fail(refusal)
    }
}
