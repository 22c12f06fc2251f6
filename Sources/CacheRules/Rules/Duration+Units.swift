extension Duration {
    /// Returns a duration in minutes.
    public static func minutes(_ count: some BinaryInteger) -> Duration { .seconds(count) * 60 }
    /// Returns a duration in hours.
    public static func hours(_ count: some BinaryInteger) -> Duration { .seconds(count) * 3600 }
    /// Returns a duration in days of 24 hours.
    public static func days(_ count: some BinaryInteger) -> Duration { .seconds(count) * 86_400 }
}
