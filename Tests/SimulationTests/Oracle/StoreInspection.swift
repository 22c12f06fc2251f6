import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore

/// What is in the store may be there, and is what an origin sent.
extension Simulation {
    /// Nothing is stored that origin or caller said not to, and in a shared cache nothing that is
    /// one person's.
    func checkStore() {
        for stored in store.base.all {
            guard let brought = oracle.entry(stored.head.fields[.brought]) else {
                world.violations.append("store: \(stored.key.components.target.uri) was brought by nobody")
                continue
            }
            let rules = oracle.rules(of: brought)
            let asker = world.calls[brought.call]
            func report(_ what: String) {
                world.violations.append(
                    "store: entry \(brought.number) of \(stored.key.components.target.uri), \(what)"
                )
            }
            if rules.forbidsStorage { report("which says no-store") }
            if Rules(asker.fields[.cacheControl]).has("no-store") { report("whose request said no-store") }
            if asker.request.storage == .never { report("whose caller said never") }
            if [304, 416, 429].contains(stored.head.status.code) { report("status \(stored.head.status.code)") }
            if stored.key.components.target.uri != world.resources[brought.resource].uri {
                report("under another target")
            }
            let isShared = world.configuration.kind == .shared
            if isShared {
                if rules.isWhole("private") { report("private in a shared cache") }
                if !asker.asker.isAnybody, !rules.isForEverybody, !rules.has("must-revalidate") {
                    report("made for one person")
                }
                // A 304 may have lifted it since.
                let targeted = stored.head.fields[.targeted]
                if Rules(targeted ?? stored.head.fields[.cacheControl]).names("private").contains("x-qualified"),
                    stored.head.fields[.qualified] != nil
                {
                    report("with a field that is private")
                }
            } else if !asker.asker.isAnybody, stored.key.components.partition == .shared,
                !rules.isForEverybody || rules.has("private")
            {
                report("one person's, in everybody's partition")
            }
        }
    }

    /// Every stored body is whole, and the one that its head speaks of.
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
                    world.violations.append("store: entry \(brought.number) has no Content-Range that fits")
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
