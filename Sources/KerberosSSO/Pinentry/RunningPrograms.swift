internal import Foundation
internal import Kerberos
internal import Synchronization

/// The programs that ask now, so that another thread can end one.
final class RunningPrograms: Sendable {
    private let programs = Mutex<[PromptRequest.ID: ChildProgram]>([:])

    /// Starts a program that speaks the Assuan protocol with its standard input and output.
    ///
    /// - Throws: `PromptRefusal`; `canceled` where the request has been called off.
    func start(_ program: String, environment: [String: String], for request: PromptRequest) throws(PromptRefusal) -> AssuanDialogue {
        // Under the lock, so that whoever calls it off from here on finds the process.
        try programs.withLock { programs throws(PromptRefusal) in
            guard !request.isCanceled else { throw .canceled }
            let dialogue = try AssuanDialogue(program, environment: environment)
            programs[request.id] = dialogue.child
            return dialogue
        }
    }

    /// Ends a program, and waits for its end.
    func end(_ dialogue: inout AssuanDialogue, of request: PromptRequest) {
        // From here on the numbers may be another's.
        programs.withLock { _ = $0.removeValue(forKey: request.id) }
        dialogue.end()
    }

    /// Ends the one that asks this. What talks to it sees the end of its output, whether or not the program heeds the signal.
    func cancel(_ request: PromptRequest) {
        programs.withLock { programs in
            guard let program = programs[request.id] else { return }
            kill(program.process, SIGTERM)
            shutdown(program.connection, Int32(SHUT_RDWR))
        }
    }
}
