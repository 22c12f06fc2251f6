import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

/// The pages of a list, in order, each requested when it is needed. See
/// ``CachingClient/pages(of:next:limit:_:)``.
public struct PageSequence<E: Endpoint>: AsyncSequence, Sendable {
    /// A page with its source.
    public typealias Element = Emission<E.Response>

    let client: CachingClient
    let first: E
    let next: NextPage<E>
    let limit: Int
    let strategy: SingleValueStrategy?

    /// Starts with the first page.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self) }

    /// Iterates over the pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A page to request, or that was received.
        private enum Page {
            case endpoint(E)
            case linked(LinkedPage<E>)
        }

        private enum Stage {
            case beginning
            case after(Page, Delivery<E.Response>)
            case ended
        }

        private let pages: PageSequence
        private var stage = Stage.beginning
        private var trail: PageTrail?

        fileprivate init(pages: PageSequence) { self.pages = pages }

        /// Returns the next page; `nil` after the last one.
        public mutating func next() async throws -> Emission<E.Response>? {
            let stage = stage
            // A failure ends the sequence.
            self.stage = .ended
            let page: Page
            switch stage {
            case .ended: return nil
            case .beginning: page = .endpoint(pages.first)
            case .after(let last, let delivery):
                guard let following = try following(last, delivery) else { return nil }
                page = following
            }
            try Task.checkCancellation()
            let delivery = try await fetch(page)
            self.stage = .after(page, delivery)
            return delivery.emission
        }

        private func fetch(_ page: Page) async throws -> Delivery<E.Response> {
            let (client, strategy) = (pages.client, pages.strategy ?? pages.first.strategy)
            switch page {
            case .endpoint(let endpoint): return try await client.deliver(client.call(endpoint), strategy)
            case .linked(let linked): return try await client.deliver(client.call(linked), strategy)
            }
        }

        /// Decides about the page after one that was received.
        private mutating func following(_ page: Page, _ delivery: Delivery<E.Response>) throws -> Page? {
            do {
                if let step = pages.next.step { return try counted(after: page, delivery, step) }
                return try linked(from: page, delivery)
            } catch let fault as PageTrail.Fault {
                throw HoldfastError(fault, pageOf: pages.first, status: delivery.emission.status)
            }
        }

        private mutating func counted(
            after page: Page,
            _ delivery: Delivery<E.Response>,
            _ step: NextPage<E>.Step
        ) throws -> Page? {
            guard case .endpoint(let endpoint) = page else { return nil }
            var trail = trail ?? PageTrail(limit: pages.limit, first: nil)
            guard let (next, mark) = step(endpoint, delivery.emission.value, trail.count - 1) else { return nil }
            try trail.advance(to: mark)
            self.trail = trail
            return .endpoint(next)
        }

        private mutating func linked(from page: Page, _ delivery: Delivery<E.Response>) throws -> Page? {
            guard let link = LinkField.next(in: delivery.emission.fields) else { return nil }
            guard pages.first.method == .get else { throw HoldfastError(linkOf: pages.first) }
            let first = try target(of: .endpoint(pages.first))
            let base = delivery.redirects.flatMap { TargetURI(request: $0.last.head) }
            let target = try PageTrail.target(of: link, on: base ?? target(of: page), from: first)
            var trail = trail ?? PageTrail(limit: pages.limit, first: first)
            try trail.advance(to: target)
            self.trail = trail
            return .linked(LinkedPage(base: pages.first, target: target))
        }

        private func target(of page: Page) throws -> TargetURI {
            let request =
                switch page {
                case .endpoint(let endpoint): try pages.client.request(for: endpoint)
                case .linked(let linked): try pages.client.request(for: linked)
                }
            guard let target = TargetURI(request: request.head) else { throw PageTrail.Fault.invalidLink }
            return target
        }
    }
}

extension CachingClient {
    /// Returns the pages of a list, in order. Each page is requested when the loop asks for it.
    ///
    /// ```swift
    /// let pages = client.pages(of: GetMoments(), next: .cursor(\.next) { $0.cursor = $1 })
    /// for try await page in pages {
    ///     moments += page.value.moments
    /// }
    /// ```
    ///
    /// Each page is a call of its own: it is stored under its own key, and comes from the store or
    /// the network as the strategy says. Pages that are stored are therefore read offline.
    ///
    /// A page that cannot be fetched ends the sequence with its call's error. The sequence ends
    /// with `HoldfastError.Code.paginationFailed` if there are more pages than the limit, if a page
    /// links to a page that was requested before, or if a link is refused (``NextPage/link``). The
    /// pages before that one are returned first.
    ///
    /// - Parameters:
    ///   - endpoint: the first page.
    ///   - next: how the next page is found.
    ///   - limit: the maximum number of pages, at least 1. A faulty server may have no last page.
    ///   - strategy: how each page is obtained. The endpoint's own strategy by default.
    public func pages<E: Endpoint>(
        of endpoint: E,
        next: NextPage<E>,
        limit: Int = 100,
        _ strategy: SingleValueStrategy? = nil
    ) -> PageSequence<E> {
        PageSequence(client: self, first: endpoint, next: next, limit: limit, strategy: strategy)
    }
}
