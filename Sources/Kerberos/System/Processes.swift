internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Keeps the secrets of a long-running process out of files and other processes.
package enum ProcessProtection {
    /// Disables core dumps, and access to this process's memory by other processes of the user (`prctl(PR_SET_DUMPABLE)`,
    /// `setrlimit(RLIMIT_CORE)`). Call this before the first ticket is read.
    ///
    /// - Returns: Whether both calls succeeded.
    @discardableResult
    package static func forbidDumps() -> Bool { forbidCoreFiles() && ckerberos_forbid_dumps() == 0 }

    /// Disables core files (`setrlimit(RLIMIT_CORE)`); other processes of the user can still inspect this one.
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

    /// Raises the limit of open files and connections to the system's maximum (`setrlimit(RLIMIT_NOFILE)`).
    package static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(fileResource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(fileResource, &limit)
    }

    /// The limit of open files and connections (`getrlimit(RLIMIT_NOFILE)`).
    package static var fileLimit: Int {
        var limit = rlimit()
        // The usual minimum, if the limit is unknown.
        return getrlimit(fileResource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 1024
    }

    #if canImport(Glibc)
        private static let fileResource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let fileResource = RLIMIT_NOFILE
    #endif

    /// The environment variable that makes glibc overwrite freed memory; it must be set before the process starts.
    ///
    /// Freed memory keeps its contents until it is reused, including keys in buffers of this package, SwiftNIO and libkrb5. `perturb`
    /// overwrites every block when it is freed. The per-thread cache is off because it would exempt small blocks.
    package static let wipingVariable = (name: "GLIBC_TUNABLES", value: "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0")
}

/// Reduces the memory use of a long-running process.
package enum ProcessMemory {
    /// Returns freed memory to the system if the C library keeps it (`malloc_trim`). This takes milliseconds: use it after a large
    /// allocation.
    package static func giveBackFreed() { ckerberos_give_back_freed() }

    /// Returns freed memory and the program's code to the system, for an idle process: most of the code is used only at start (`madvise`).
    /// Code that runs later is read again, usually from the page cache, in a fraction of a millisecond.
    package static func giveBackAtRest() {
        ckerberos_give_back_freed()
        ckerberos_forget_code()
    }
}

/// A descriptor that refers to another process (pidfd_open(2)).
package enum ProcessDescriptor {
    /// Opens a descriptor that becomes readable when the process exits, and closes on execve(2). -1 on failure or if the kernel is too old.
    package static func open(_ processID: Int32) -> Int32 { ckerberos_open_process(processID) }
}
