/// Which time runs in an exchange with an origin. Pure: what happened goes in, the time that runs
/// comes out.
///
/// A request's content may take as long as it comes: as long as the client has not sent more, no
/// time of the origin's runs. The time for the response's head begins when the content has been
/// sent, or with the response's first byte where that is earlier. An interim response is no such
/// beginning: an origin may ask for the content with one.
package struct OriginWait: Sendable, Hashable {
    /// What an origin may take a time for.
    package enum Running: Sendable, Hashable, CaseIterable {
        /// To take the head and the content that were handed over.
        case taking
        /// To send the response's head.
        case head
        /// To send more of the response's content, for which a reader waits.
        case content
    }

    /// What an event does to the time that runs.
    package enum Change: Sendable, Hashable {
        case none
        case stop
        case begin(Running)
    }

    private enum Upload: Sendable, Hashable {
        /// The client's turn: all that came was taken.
        case waiting
        /// The origin's turn: something was handed over. `isLast`: nothing follows it.
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

    /// A request whose head is handed over.
    package init(hasContent: Bool) {
        upload = hasContent ? .pending(isLast: false) : .done
    }

    /// The time that runs; `nil` where none does.
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

    /// Some content was handed over, and waits to be taken.
    package mutating func handOver() -> Change {
        change { wait in
            if case .waiting = wait.upload { wait.upload = .pending(isLast: false) }
        }
    }

    /// All that was handed over is taken.
    package mutating func take() -> Change {
        change { wait in
            switch wait.upload {
            case .pending(let isLast): wait.upload = isLast ? .done : .waiting
            case .waiting, .done: break
            }
        }
    }

    /// No more content follows.
    package mutating func endContent() -> Change {
        change { wait in
            switch wait.upload {
            case .pending: wait.upload = .pending(isLast: true)
            case .waiting: wait.upload = .done
            case .done: break
            }
        }
    }

    /// Some bytes of a response came.
    package mutating func beginResponse() -> Change {
        change { wait in
            if case .none = wait.response { wait.response = .begun }
        }
    }

    /// They were an interim response.
    package mutating func receiveInterim() -> Change {
        change { wait in
            if case .begun = wait.response { wait.response = .none }
        }
    }

    package mutating func receiveHead() -> Change {
        change { wait in wait.response = .head(isAsked: false) }
    }

    /// A reader waits for content.
    package mutating func ask() -> Change {
        change { wait in
            if case .head = wait.response { wait.response = .head(isAsked: true) }
        }
    }

    /// The reader has content.
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
