import HTTPCache
package import HTTPCacheOperations
package import HTTPCacheSemantics

/// The jobs of a store: their files, and the partitions of their responses.
///
/// A recording stores responses in a new partition. One atomic rename of the job's file makes it
/// the job; then the responses of the old partition are removed. So a process that is killed leaves
/// the old job or none, and marks responses that nothing uses.
extension CacheManager: RecordingStore {
    /// The jobs' folder.
    package var jobs: JobFolder { JobFolder(store: folder) }

    /// Returns the partition of a job; `nil` if there is no such job.
    ///
    /// - Throws: ``StoreError``, ``JobFile/Refusal``
    package func partition(of name: JobName) throws -> JobPartition? { try jobs.header(of: name)?.partition }

    /// Removes the responses of recordings whose processes were killed. No recording may be
    /// running.
    ///
    /// - Returns: what became of these recordings.
    /// - Throws: ``StoreError``
    @discardableResult
    package func endKilledRecordings(at now: Timestamp) async throws -> [KilledRecording] {
        var killed: [KilledRecording] = []
        for marked in try jobs.marked {
            // If the job cannot be read, its partition is not known, so nothing is removed.
            guard case .success(let used) = Result(catching: { try jobs.header(of: marked) }) else { continue }
            let partitions = try jobs.partitions(ofMark: marked)
            try await remove(partitions, except: used?.partition, at: now)
            try jobs.removeMark(marked)
            killed.append(KilledRecording(marked, isKept: used != nil && used?.partition == partitions.first))
        }
        return killed
    }

    /// Begins a recording, after ``endKilledRecordings(at:)``.
    ///
    /// - Throws: ``StoreError``, also if the store cannot be written: the job would be lost at its
    ///   end.
    package func beginRecording(_ name: JobName, in partition: JobPartition, at now: Timestamp) async throws {
        try await core.write(isDurable: true) { _ in }
        let old = jobs.statedPartition(of: name)
        try jobs.mark(name, [partition] + [old].compactMap(\.self))
    }

    /// Ends a recording: its job replaces the job with the same name.
    ///
    /// If the job's file cannot be written, its responses are removed, and a job with the same name
    /// stays.
    ///
    /// - Throws: ``StoreError``
    package func keep(_ header: JobFile.Header, _ entries: [JobFile.Entry], at now: Timestamp) async throws {
        do {
            // The job must not be in force before its responses, not even after a power failure.
            try await core.write(isDurable: true) { _ in }
            try jobs.replace(header, entries)
        } catch {
            // The rename decides, whatever failed after it. If nothing can be removed now, the next
            // process removes what the mark names.
            if jobs.statedPartition(of: header.name) != header.partition {
                try? await discardRecording(header.name, in: header.partition, at: now)
            }
            throw error
        }
        try await remove(jobs.partitions(ofMark: header.name), except: header.partition, at: now)
        try jobs.removeMark(header.name)
    }

    /// Ends a recording without a job. A job with the same name stays.
    ///
    /// - Throws: ``StoreError``
    package func discardRecording(_ name: JobName, in partition: JobPartition, at now: Timestamp) async throws {
        try await remove([partition], except: nil, at: now)
        try jobs.removeMark(name)
    }

    /// Removes a job and its responses, even if its file is damaged. If the damage is in the file's
    /// first line, the responses stay until they are evicted.
    ///
    /// - Returns: whether there was such a job.
    /// - Throws: ``StoreError``
    package func removeJob(_ name: JobName, at now: Timestamp) async throws -> Bool {
        let partitions: [JobPartition]
        do {
            guard let header = try jobs.header(of: name) else { return false }
            partitions = [header.partition]
        } catch is JobFile.Refusal {
            partitions = [jobs.statedPartition(of: name)].compactMap(\.self)
        }
        try jobs.mark(name, partitions)
        try jobs.remove(name)
        try await remove(partitions, except: nil, at: now)
        try jobs.removeMark(name)
        return true
    }

    /// Removes the responses in partitions, except those of a job.
    ///
    /// - Throws: ``StoreError``, also if the removal is only in memory, so that their mark stays.
    private func remove(_ partitions: [JobPartition], except used: JobPartition?, at now: Timestamp) async throws {
        let scopes: [InvalidationScope] = partitions.filter { $0 != used }.map { .principal($0.description) }
        guard !scopes.isEmpty, try await !core.invalidate(scopes, .remove, at: now).isDurable else { return }
        throw StoreError(
            code: .full,
            message:
                "The disk of the store '\(folder)' accepts no writes, so responses of a recording are still there. Free some space; the next recording removes them."
        )
    }
}
