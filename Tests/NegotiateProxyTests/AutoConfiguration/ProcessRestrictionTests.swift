import Foundation
import Glibc
import TestSupport
import Testing

@testable import NegotiateProxy

/// What the process that evaluates PAC files can no longer do. Each test takes the rights from a process of its own.
struct ProcessRestrictionTests {
    @Test(.exitTest, .skipped(under: .thread, because: "its runtime starts a thread and writes files"))
    func `the process resolves names but starts no process and writes no file`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            let parent = getppid()
            let applied = ProcessRestriction.applyAll(memory: 128 << 20)
            report(1, Set(applied).isSuperset(of: [.resources, .privileges, .systemCalls]))
            // Reading the system's settings and resolving a name still work.
            report(2, open("/etc/passwd", O_RDONLY) >= 0)
            var addresses: UnsafeMutablePointer<addrinfo>?
            report(3, getaddrinfo("localhost", nil, nil, &addresses) == 0)
            report(4, OwnAddress.current().contains("."))
            report(5, open("/tmp/ksso-restricted", O_RDWR | O_CREAT, 0o600) < 0 && errno == EPERM)
            report(6, unlink("/etc/no-such-file") < 0 && errno == EPERM)
            report(7, socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) < 0 && errno == EAFNOSUPPORT)
            report(8, kill(parent, 0) < 0 && errno == EPERM)
            var process: pid_t = 0
            let words: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
            report(9, posix_spawn(&process, "/bin/true", nil, nil, words, nil) != 0)
            report(10, execv("/bin/true", words) < 0 && errno == EPERM)
            report(11, listen(socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0), 1) < 0 && errno == EPERM)
            // MPTCP and SCTP are not TCP for Landlock.
            report(16, socket(AF_INET, Int32(SOCK_STREAM.rawValue), 262) < 0 && errno == EAFNOSUPPORT)
            report(17, socket(AF_INET6, Int32(SOCK_SEQPACKET.rawValue), 0) < 0 && errno == EAFNOSUPPORT)
            report(18, socket(AF_INET, Int32(SOCK_DGRAM.rawValue), Int32(IPPROTO_UDP)) >= 0)
            for flags in [0x2000_0000, 0x2000_4000] as [Int32] {
                var byte: UInt8 = 0
                let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
                report(19, sendto(descriptor, &byte, 1, flags, nil, 0) < 0 && errno == EPERM)
                var message = msghdr()
                report(20, sendmsg(descriptor, &message, flags) < 0 && errno == EPERM)
            }
            if applied.contains(.files) {
                report(12, open("/proc/self/environ", O_RDONLY) < 0 && errno == EACCES)
                report(13, open("/root", O_RDONLY) < 0 && open("/tmp", O_RDONLY) < 0 && errno == EACCES)
            }
            if applied.contains(.ports) {
                report(14, connectError(port: 80) == EACCES)
                report(15, connectError(port: 53) != EACCES)
                report(21, socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | 0o2000000, Int32(IPPROTO_TCP)) >= 0)
            }
            _exit(0)
        }
    }

    @Test(.exitTest) func `the process is terminated when it uses too much processor time`() async {
        await #expect(processExitsWith: .signal(SIGXCPU)) {
            ProcessRestriction.limitProcessorTime(seconds: 0)
            while true {}
        }
    }
}

/// Exits with the number of a check that failed.
private func report(_ number: Int32, _ isTrue: Bool) {
    if !isTrue { _exit(number) }
}

/// The error of a TCP connection to a port on loopback at which nothing listens.
private func connectError(port: UInt16) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    return result == 0 ? 0 : errno
}
