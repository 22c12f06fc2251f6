extension Duration {
    /// So many minutes.
    public static func minutes(_ count: some BinaryInteger) -> Duration { .seconds(count) * 60 }
    /// So many hours.
    public static func hours(_ count: some BinaryInteger) -> Duration { .seconds(count) * 3600 }
    /// So many days of 24 hours.
    public static func days(_ count: some BinaryInteger) -> Duration { .seconds(count) * 86_400 }
}
