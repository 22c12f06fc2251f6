/// The use of each page in a database. It is read from the pointer map, which has an entry for
/// every page, or from the list of free pages if the map is damaged.
///
/// Rows on a free page were removed and must not be restored.
final class PageUse {
    enum Use: Equatable {
        case root
        case free
        case overflow
        case tree(parent: Int)
        case map
        /// The page is neither in the map nor in the list of free pages.
        case unknown
    }

    private static let entryLength = 5
    /// The number of pages covered by one page of the map.
    private static let coverage = DatabaseImage.pageSize / entryLength
    /// The page at offset 1 GiB, which SQLite never uses for data.
    private static let lockPage = 0x4000_0000 / DatabaseImage.pageSize + 1

    private let image: DatabaseImage
    private var maps: [Int: [UInt8]] = [:]
    private lazy var free = freePages()

    init(_ image: DatabaseImage) {
        self.image = image
    }

    func use(of page: Int) -> Use {
        if page == 1 { return .root }
        let map = Self.map(for: page)
        if page == map || page == Self.lockPage { return .map }
        let offset = Self.entryLength * (page - map - 1)
        let bytes = mapPage(map)
        let parent = bytes.integer(at: offset + 1)
        switch (bytes[offset], parent) {
        case (1, 0): return .root
        case (2, 0): return .free
        case (3, 1...image.pageCount), (4, 1...image.pageCount): return .overflow
        case (5, 1...image.pageCount): return .tree(parent: parent)
        default: return free.contains(page) ? .free : .unknown
        }
    }

    /// Returns the root of the tree that contains a page; `nil` if the map does not lead to a root.
    func root(of page: Int) -> Int? {
        var page = page
        // No tree is deeper than 24 levels.
        for _ in 0..<24 {
            switch use(of: page) {
            case .root: return page
            case .tree(let parent): page = parent
            default: return nil
            }
        }
        return nil
    }

    private static func map(for page: Int) -> Int {
        let map = (page - 2) / (coverage + 1) * (coverage + 1) + 2
        return map == lockPage ? map + 1 : map
    }

    private func mapPage(_ number: Int) -> [UInt8] {
        if let page = maps[number] { return page }
        if maps.count >= 64 { maps = [:] }
        let page = image.page(number)
        maps[number] = page
        return page
    }

    private func freePages() -> Set<Int> {
        var free: Set<Int> = []
        let header = image.page(1)
        guard header.starts(with: Array("SQLite format 3\0".utf8)) else { return [] }
        var trunk = header.integer(at: 32)
        while trunk > 1, trunk <= image.pageCount, free.insert(trunk).inserted {
            let page = image.page(trunk)
            let count = page.integer(at: 4)
            guard count <= DatabaseImage.pageSize / 4 - 2 else { break }
            for index in 0..<count { free.insert(page.integer(at: 8 + 4 * index)) }
            trunk = page.integer(at: 0)
        }
        return free
    }
}
