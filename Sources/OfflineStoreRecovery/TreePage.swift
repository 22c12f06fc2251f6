/// A page of an SQLite B-tree, with all readable cells.
///
/// <https://www.sqlite.org/fileformat2.html#b_tree_pages>
struct TreePage {
    enum Kind: UInt8 {
        case indexInterior = 2
        case tableInterior = 5
        case indexLeaf = 10
        case tableLeaf = 13
    }

    /// A row, or an entry of an index.
    struct Cell {
        /// The row ID; `nil` in an index.
        var rowID: Int64?
        var values: [RecordValue]
    }

    let kind: Kind
    private let bytes: [UInt8]
    private let offsets: [Int]
    private let start: Int
    /// Whether the page's header and cell pointers are all plausible.
    let isWhole: Bool

    private static let size = DatabaseImage.pageSize

    /// Parses a page; returns `nil` if it is not part of a tree.
    init?(_ bytes: [UInt8], number: Int) {
        let start = number == 1 ? 100 : 0
        guard let kind = Kind(rawValue: bytes[start]) else { return nil }
        let isInterior = kind == .tableInterior || kind == .indexInterior
        let count = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
        let pointers = start + (isInterior ? 12 : 8)
        let fits = pointers + 2 * count <= Self.size
        var offsets: [Int] = []
        if fits {
            offsets = (0..<count).map { Int(bytes[pointers + 2 * $0]) << 8 | Int(bytes[pointers + 2 * $0 + 1]) }
        }
        let valid = offsets.filter { $0 >= pointers + 2 * count && $0 <= Self.size - 4 }
        self.kind = kind
        self.start = start
        self.bytes = bytes
        self.offsets = valid
        isWhole = fits && valid.count == count && bytes[start + 7] <= 60
    }

    /// The child pages of an interior page of a table.
    var children: [Int] {
        guard kind == .tableInterior else { return [] }
        return offsets.map { bytes.integer(at: $0) } + [bytes.integer(at: start + 8)]
    }

    /// Reads the cells that contain values. An interior page of a table has none.
    ///
    /// - Returns: whether every cell and its overflow pages could be read.
    func readCells(of image: DatabaseImage, _ body: (Cell) throws -> Void) rethrows -> Bool {
        if kind == .tableInterior { return isWhole }
        var isComplete = isWhole
        for offset in offsets {
            if let cell = cell(at: offset, image) { try body(cell) } else { isComplete = false }
        }
        return isComplete
    }

    private func cell(at start: Int, _ image: DatabaseImage) -> Cell? {
        var offset = start + (kind == .indexInterior ? 4 : 0)
        guard let length = bytes.varint(at: &offset), length > 0,
            // A chain of pages cannot contain more bytes than all present pages.
            length <= Int64(image.presentPages * Self.size)
        else {
            return nil
        }
        var rowID: Int64?
        if kind == .tableLeaf {
            guard let number = bytes.varint(at: &offset) else { return nil }
            rowID = number
        }
        guard let payload = payload(Int(length), at: offset, image), let values = RecordValue.values(payload) else {
            return nil
        }
        return Cell(rowID: rowID, values: values)
    }

    /// Returns a cell's payload: the part on this page, followed by the chain of overflow pages.
    private func payload(_ length: Int, at offset: Int, _ image: DatabaseImage) -> [UInt8]? {
        let most = kind == .tableLeaf ? Self.size - 35 : (Self.size - 12) * 64 / 255 - 23
        if length <= most { return offset + length <= Self.size ? Array(bytes[offset..<offset + length]) : nil }
        let least = (Self.size - 12) * 32 / 255 - 23
        let fitted = least + (length - least) % (Self.size - 4)
        let local = fitted <= most ? fitted : least
        guard offset + local + 4 <= Self.size else { return nil }
        var payload = Array(bytes[offset..<offset + local])
        payload.reserveCapacity(min(length, 1 << 20))
        var next = bytes.integer(at: offset + local)
        while payload.count < length {
            guard next > 1, next <= image.pageCount else { return nil }
            let page = image.page(next)
            payload += page[4..<min(Self.size, 4 + length - payload.count)]
            next = page.integer(at: 0)
        }
        return payload
    }
}

/// A value in an SQLite record.
///
/// <https://www.sqlite.org/fileformat2.html#record_format>
enum RecordValue {
    case null
    case integer(Int64)
    case bytes([UInt8])
    case text(String)

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
    var isNull: Bool { if case .null = self { true } else { false } }

    /// Returns the values of a record; `nil` if its bytes are invalid.
    static func values(_ record: [UInt8]) -> [RecordValue]? {
        var offset = 0
        guard let headLength = record.varint(at: &offset), headLength >= 1, headLength <= 200,
            headLength <= Int64(record.count)
        else { return nil }
        var content = Int(headLength)
        var values: [RecordValue] = []
        while offset < Int(headLength) {
            guard let type = record.varint(at: &offset), type >= 0, offset <= Int(headLength) else { return nil }
            let length: Int
            switch type {
            case 0, 8, 9: length = 0
            case 1...4: length = Int(type)
            case 5: length = 6
            case 6: length = 8
            // A floating-point number or a reserved type; the store writes neither.
            case 7, 10, 11: return nil
            default: length = Int(clamping: (type - 12) / 2)
            }
            guard length <= record.count - content else { return nil }
            let bytes = record[content..<content + length]
            content += length
            switch type {
            case 0: values.append(.null)
            case 8: values.append(.integer(0))
            case 9: values.append(.integer(1))
            case 1...6:
                let isNegative = bytes.first.map { $0 & 0x80 != 0 } ?? false
                values.append(.integer(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }))
            default:
                values.append(type & 1 == 0 ? .bytes(Array(bytes)) : .text(String(decoding: bytes, as: UTF8.self)))
            }
        }
        return content == record.count ? values : nil
    }
}

extension [UInt8] {
    /// Reads a number of one to nine bytes; returns `nil` if the bytes end too early.
    func varint(at offset: inout Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard offset < count else { return nil }
            let byte = self[offset]
            offset += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7f)
            if byte & 0x80 == 0 { return Int64(bitPattern: value) }
        }
        return nil
    }
}
