extension Agent {
    /// Puts into the journal why nobody can be asked for a password: once, however many programs wait for one.
    func notePromptFaults() async {
        guard let faults = options.promptFaults else { return }
        let beginning = "nobody can be asked for a password: "
        var last: String?
        for await fault in faults where fault != last {
            if let fault { journal.failure(beginning + fault) } else { journal.settle(beginning, "passwords are asked for again.") }
            last = fault
        }
    }
}
