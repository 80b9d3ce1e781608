internal import CKerberos

/// The memory of a process that runs for a long time.
package enum ProcessMemory {
    /// Gives freed memory back to the system where the C library keeps it (`malloc_trim`). It takes milliseconds: worth it after something
    /// large.
    package static func giveBackFreed() { ckerberos_give_back_freed() }

    /// For a process that has nothing to do: gives back freed memory, and the program's code too, most of which only its start needed
    /// (`madvise`). What runs later is fetched again, from the system's own cache as a rule: a fraction of a millisecond.
    package static func giveBackAtRest() {
        ckerberos_give_back_freed()
        ckerberos_forget_code()
    }
}
