internal import CKerberos

/// A descriptor that stands for another process (pidfd_open(2)).
package enum ProcessDescriptor {
    /// Opens one, which becomes readable when the process ends. It is closed on execve(2). -1 where that fails, or the kernel is too old.
    package static func open(_ processID: Int32) -> Int32 { ckerberos_open_process(processID) }
}
