internal import CKerberos

/// The memory of a process that runs for a long time.
package enum ProcessMemory {
    /// Gives freed memory back to the system where the C library keeps it (`malloc_trim`). It takes milliseconds: worth it after something
    /// large.
    package static func giveBackFreed() { ckerberos_give_back_freed() }
}
