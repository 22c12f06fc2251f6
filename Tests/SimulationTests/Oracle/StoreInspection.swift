import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore

/// Checks that stored responses may be stored, and equal what an origin sent.
extension Simulation {
    /// No response is stored against the wish of origin or caller, and no personal one in a shared
    /// cache.
    func checkStore() {
        for stored in store.base.all {
            guard let brought = oracle.entry(stored.head.fields[.brought]) else {
                world.violations.append("store: \(stored.key.components.target.uri) came from no origin")
                continue
            }
            let rules = oracle.rules(of: brought)
            let asker = world.calls[brought.call]
            func report(_ what: String) {
                world.violations.append(
                    "store: entry \(brought.number) of \(stored.key.components.target.uri), \(what)"
                )
            }
            if rules.forbidsStorage { report("with no-store") }
            if Rules(asker.fields[.cacheControl]).has("no-store") { report("whose request had no-store") }
            if asker.request.storage == .never { report("whose caller had 'never'") }
            if [304, 416, 429].contains(stored.head.status.code) { report("status \(stored.head.status.code)") }
            if stored.key.components.target.uri != world.resources[brought.resource].uri {
                report("under another target")
            }
            let isShared = world.configuration.kind == .shared
            if isShared {
                if rules.isWhole("private") { report("private in a shared cache") }
                if !asker.asker.isAnybody, !rules.isForEverybody, !rules.has("must-revalidate") {
                    report("made for one principal")
                }
                // A 304 may have lifted it since.
                let targeted = stored.head.fields[.targeted]
                if Rules(targeted ?? stored.head.fields[.cacheControl]).names("private").contains("x-qualified"),
                    stored.head.fields[.qualified] != nil
                {
                    report("with a field that is private")
                }
            } else if !asker.asker.isAnybody, stored.key.components.partition == .common,
                !rules.isForEverybody || rules.has("private")
            {
                report("one principal's, in the common partition")
            }
        }
    }

    /// Every stored body is whole, and belongs to its head.
    func checkBodies() async {
        for stored in store.base.all {
            guard let brought = oracle.entry(stored.head.fields[.brought]), let representation = brought.representation,
                let stream = try? await store.base.openBody(of: stored),
                let body = try? await stream.collect(upTo: 1 << 24)
            else { continue }
            var bytes = world.bytes(of: representation)
            if stored.head.status == .partialContent {
                guard let range = stored.head.fields[.contentRange].flatMap(Oracle.range),
                    let part = bytes.getSlice(at: range.bytes.lowerBound, length: range.bytes.count)
                else {
                    world.violations.append("store: entry \(brought.number) has no matching Content-Range")
                    continue
                }
                bytes = part
            }
            if body != bytes {
                world.violations.append(
                    "store: the body of entry \(brought.number) (\(brought.body)) has \(body.readableBytes) bytes, and is not the "
                        + "\(bytes.readableBytes) that were sent"
                )
            }
        }
    }
}
