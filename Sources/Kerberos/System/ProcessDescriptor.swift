internal import CKerberos

/// A descriptor that refers to another process (pidfd_open(2)).
package enum ProcessDescriptor {
    /// Opens a descriptor that becomes readable when the process exits, and closes on execve(2). -1 on failure or if the kernel is too old.
    package static func open(_ processID: Int32) -> Int32 { ckerberos_open_process(processID) }
}
