internal import Dispatch
internal import Foundation

#if os(Linux)
    /// Says when files or folders are written, replaced, made, removed, or given to somebody else (inotify(7)).
    ///
    /// A folder is watched with all that is in it. So is each folder on the way, by the one name that matters there, and one that is
    /// missing as soon as it is made; a link is watched, and what it leads to.
    package struct FileWatch: Sendable {
        /// Yields after a change. Several changes that nobody looked at are one.
        package let changes: AsyncStream<Void>

        /// Begins to watch, until the stream is dropped. Nil where the kernel gives no watch.
        ///
        /// - Parameter paths: What is watched, asked anew after each change. It may look at files.
        package init?(_ paths: @escaping @Sendable () -> [String]) {
            guard let table = FileWatchTable() else { return nil }
            guard table.update(paths()) else {
                table.end()
                return nil
            }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Safe: from here on the queue alone has it.
            nonisolated(unsafe) let watches = table
            // Safe: libdispatch lets any thread cancel a source; nothing else is done with it once it is active.
            nonisolated(unsafe) let source = DispatchSource.makeReadSource(
                fileDescriptor: table.descriptor,
                queue: DispatchQueue(label: "ksso.files")
            )
            unsafe source.setEventHandler {
                guard unsafe watches.takeChanges() else { return }
                // First the new watches: what changes after the look that follows is seen again.
                _ = unsafe watches.update(paths())
                continuation.yield()
            }
            unsafe source.setCancelHandler {
                unsafe watches.end()
                continuation.finish()
            }
            continuation.onTermination = { _ in unsafe source.cancel() }
            unsafe source.activate()
            changes = stream
        }
    }
#endif
