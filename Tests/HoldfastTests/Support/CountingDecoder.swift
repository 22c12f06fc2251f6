import Foundation
import Holdfast
import Synchronization

/// Counts the values that it decodes.
final class CountingDecoder: ResponseDecoder {
    private let counter = Mutex(0)
    var count: Int { counter.withLock { $0 } }

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        counter.withLock { $0 += 1 }
        return try JSONDecoder().decode(type, from: data)
    }
}
