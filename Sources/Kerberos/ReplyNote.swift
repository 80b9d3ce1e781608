internal import CKerberos
internal import Synchronization

/// Whether a KDC has said anything during a call, also one that nobody waits for any more.
final class ReplyNote: Sendable {
    private let flag = Atomic(false)
    private let outer: ReplyNote?
    private let action: @Sendable () -> Void

    /// - Parameters:
    ///   - outer: One that notes the same for what this call is a part of.
    ///   - action: What to do with each reply, on the thread of the call.
    init(within outer: ReplyNote? = nil, _ action: @escaping @Sendable () -> Void = {}) {
        self.outer = outer
        self.action = action
    }

    var hasReply: Bool { flag.load(ordering: .acquiring) }

    private func note() {
        flag.store(true, ordering: .releasing)
        action()
        outer?.note()
    }

    /// libkrb5 calls it with what came from a KDC, or with why nothing came (`krb5_post_recv_fn`).
    fileprivate static let callback: krb5_post_recv_fn = { _, data, code, _, _, reply, _ in
        if code == 0, reply != nil, let data {
            Unmanaged<ReplyNote>.fromOpaque(data).takeUnretainedValue().note()
        }
        return code
    }
}

extension Context {
    /// Has the replies of KDCs noted from now on; nil ends it.
    func noteReplies(in note: ReplyNote?) {
        replies = note
        krb5_set_kdc_recv_hook(raw, note == nil ? nil : ReplyNote.callback, note.map { Unmanaged.passUnretained($0).toOpaque() })
    }
}
