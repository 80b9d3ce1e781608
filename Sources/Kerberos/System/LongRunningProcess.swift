internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Keeps the secrets of a process that holds them for a long time out of files and out of other processes.
package enum ProcessProtection {
    /// Switches core dumps off, and the reading of this process's memory by others of the same user (`prctl(PR_SET_DUMPABLE)`,
    /// `setrlimit(RLIMIT_CORE)`). Best before the first ticket is there.
    ///
    /// - Returns: Whether both worked.
    @discardableResult
    package static func forbidDumps() -> Bool { forbidCoreFiles() && ckerberos_forbid_dumps() == 0 }

    /// Switches core files off (`setrlimit(RLIMIT_CORE)`); other processes of the user can still see what this one is.
    @discardableResult
    package static func forbidCoreFiles() -> Bool {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
            let limited = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        #else
            let limited = setrlimit(RLIMIT_CORE, &none)
        #endif
        return limited == 0
    }

    /// Lets the process have as many files and connections as the machine grants it (`setrlimit(RLIMIT_NOFILE)`).
    package static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(fileResource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(fileResource, &limit)
    }

    /// How many files and connections the process may have open (`getrlimit(RLIMIT_NOFILE)`).
    package static var fileLimit: Int {
        var limit = rlimit()
        // What systems grant at least, where this one does not say.
        return getrlimit(fileResource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 1024
    }

    #if canImport(Glibc)
        private static let fileResource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let fileResource = RLIMIT_NOFILE
    #endif

    /// The variable by which glibc is told, before a process begins, to overwrite what is freed.
    ///
    /// Freed memory keeps what was in it until it is used again: keys among it, in buffers of this package, SwiftNIO and libkrb5 alike.
    /// `perturb` overwrites every block as it is freed. The per-thread cache would keep small blocks from that, so it is off.
    package static let wipingVariable = (name: "GLIBC_TUNABLES", value: "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0")
}

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
