import HTTPCache

/// The purges of the retained log, as far as the log has been read again.
///
/// A failed read loses only its page: the next attempt continues after ``position``, as long as the
/// log is in the same epoch.
struct RetainedPurges: Sendable {
    let epoch: LogEpoch
    private(set) var position: LogPosition
    private(set) var known: KnownPurges

    init(epoch: LogEpoch, bounds: LogBounds) {
        self.epoch = epoch
        position = bounds.first.previous
        known = KnownPurges(lowWaterMark: position)
    }

    /// Records the purges of the next batch.
    ///
    /// - Parameter open: decrypts a sealed purge; returns `nil` if the purge does not belong to
    ///   this fleet.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch or has no more
    ///   entries.
    mutating func take(
        _ batch: LogBatch,
        open: ([UInt8]) -> FleetInvalidation?
    ) throws(FleetLogError) {
        guard batch.epoch == epoch, let first = batch.entries.first, let last = batch.entries.last else {
            throw .wrongEpoch
        }
        // Some entries may have been trimmed in the meantime.
        if batch.atCursor == nil { known.raiseLowWaterMark(to: first.position.previous) }
        for entry in batch.entries {
            switch entry.content {
            case .marker: break
            // An unreadable entry may be a purge of any response.
            case .unreadable: known.note(.all, at: entry.position)
            case .purge(let sealed):
                guard let invalidation = open(sealed) else {
                    known.note(.all, at: entry.position)
                    break
                }
                known.note(invalidation, at: entry.position)
            }
        }
        position = last.position
    }
}
