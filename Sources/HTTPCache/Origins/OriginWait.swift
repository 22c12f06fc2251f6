/// Decides which time limit runs in an exchange with an origin. A pure value: it takes events and
/// returns changes of the running limit.
///
/// A client may take any time to send its content: while the origin waits for more content, none of
/// the origin's limits run. The limit for the response's head starts when the content has been
/// sent, or with the response's first byte if that is earlier. An interim response does not start
/// this limit, because the origin may use it to request the content.
package struct OriginWait: Sendable, Hashable {
    /// The steps for which an origin has a time limit.
    package enum Running: Sendable, Hashable, CaseIterable {
        /// Accepting the head and the written content.
        case taking
        /// Sending the response's head.
        case head
        /// Sending more of the response's content while a reader waits.
        case content
    }

    /// The effect of an event on the running limit.
    package enum Change: Sendable, Hashable {
        case none
        case stop
        case begin(Running)
    }

    private enum Upload: Sendable, Hashable {
        /// The client's turn: the origin has accepted everything so far.
        case waiting
        /// The origin's turn: something was written. If `isLast` is `true`, nothing follows.
        case pending(isLast: Bool)
        case done
    }

    private enum Response: Sendable, Hashable {
        case none
        case begun
        case head(isAsked: Bool)
    }

    private var upload: Upload
    private var response = Response.none

    /// Creates the state after the request's head was written.
    package init(hasContent: Bool) {
        upload = hasContent ? .pending(isLast: false) : .done
    }

    /// The running limit; `nil` if none runs.
    package var running: Running? {
        switch response {
        case .begun: .head
        case .head(let isAsked): isAsked ? .content : nil
        case .none:
            switch upload {
            case .waiting: nil
            case .pending: .taking
            case .done: .head
            }
        }
    }

    /// Records that content was written and waits to be accepted.
    package mutating func handOver() -> Change {
        change { wait in
            if case .waiting = wait.upload { wait.upload = .pending(isLast: false) }
        }
    }

    /// Records that everything written was accepted.
    package mutating func take() -> Change {
        change { wait in
            switch wait.upload {
            case .pending(let isLast): wait.upload = isLast ? .done : .waiting
            case .waiting, .done: break
            }
        }
    }

    /// Records that no more content follows.
    package mutating func endContent() -> Change {
        change { wait in
            switch wait.upload {
            case .pending: wait.upload = .pending(isLast: true)
            case .waiting: wait.upload = .done
            case .done: break
            }
        }
    }

    /// Records that bytes of a response arrived.
    package mutating func beginResponse() -> Change {
        change { wait in
            if case .none = wait.response { wait.response = .begun }
        }
    }

    /// Records that these bytes were an interim response.
    package mutating func receiveInterim() -> Change {
        change { wait in
            if case .begun = wait.response { wait.response = .none }
        }
    }

    package mutating func receiveHead() -> Change {
        change { wait in wait.response = .head(isAsked: false) }
    }

    /// Records that a reader waits for content.
    package mutating func ask() -> Change {
        change { wait in
            if case .head = wait.response { wait.response = .head(isAsked: true) }
        }
    }

    /// Records that the reader has content.
    package mutating func deliver() -> Change {
        change { wait in
            if case .head = wait.response { wait.response = .head(isAsked: false) }
        }
    }

    private mutating func change(_ event: (inout OriginWait) -> Void) -> Change {
        let before = running
        event(&self)
        guard running != before else { return .none }
        return running.map { Change.begin($0) } ?? .stop
    }
}
