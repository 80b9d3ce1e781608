import Foundation
import KerberosTesting
import TestSupport

/// A child process in which the system calls of the kernel's keyrings fail, because of a seccomp(2) filter such as containers have.
///
/// Its own child processes inherit the filter.
enum WithoutKeyrings {
    /// Whether this machine allows such a filter. perl-base is part of every Debian.
    static let arePossible: Bool = succeeds(command(errno: ENOSYS, ["true"]))

    /// The command that runs another one with such a filter.
    static func command(errno: Int32, _ command: [String]) -> [String] { ["perl", "-e", script, "\(errno)"] + command }

    /// Each step of the filter is a code, the lengths of the jumps for true and for false, and a value. The filter's input starts with the
    /// number of the system call, followed by the architecture.
    private static let script = """
        use strict; use warnings; use POSIX ();
        my %machines = (x86_64 => [157, 0xC000003E, 248, 249, 250], aarch64 => [167, 0xC00000B7, 217, 218, 219]);
        my ($prctl, $architecture, @calls) = @{$machines{(POSIX::uname())[4]} // exit 125};
        my $errno = shift;
        my @program = ([0x20, 0, 0, 4], [0x15, 1, 0, $architecture], [0x06, 0, 0, 0x7FFF0000], [0x20, 0, 0, 0]);
        push @program, [0x15, 0, 1, $_], [0x06, 0, 0, 0x00050000 | $errno] for @calls;
        push @program, [0x06, 0, 0, 0x7FFF0000];
        my $steps = join "", map { pack "SCCL", @$_ } @program;
        my $filter = pack "S x![P] P", scalar @program, $steps;
        syscall($prctl, 38, 1, 0, 0, 0) == 0 or exit 125;  # PR_SET_NO_NEW_PRIVS
        syscall($prctl, 22, 2, $filter) == 0 or exit 125;  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        exec { $ARGV[0] } @ARGV or exit 126;
        """
}
