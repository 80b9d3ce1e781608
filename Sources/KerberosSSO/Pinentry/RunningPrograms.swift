internal import Foundation
internal import Kerberos
internal import Synchronization

/// The programs that ask now, so that another thread can end them.
final class RunningPrograms: Sendable {
    private let processes = Mutex<Set<pid_t>>([])

    /// Starts a program that speaks the Assuan protocol with its standard input and output.
    func start(_ program: String) throws(PromptRefusal) -> AssuanDialogue {
        // Under the lock, so that nobody misses the process.
        try processes.withLock { processes throws(PromptRefusal) in
            let dialogue = try AssuanDialogue(program)
            processes.insert(dialogue.process)
            return dialogue
        }
    }

    /// Ends a program, and waits for its end.
    func end(_ dialogue: inout AssuanDialogue) {
        let process = dialogue.process
        // From here on the number may be another's.
        processes.withLock { _ = $0.remove(process) }
        dialogue.end()
    }

    /// Ends them all. What asks them sees the end of their output.
    func cancel() {
        processes.withLock { for process in $0 { kill(process, SIGTERM) } }
    }
}
