internal import CKerberos
internal import Synchronization

/// Whether a KDC has said anything during a call, also one that nobody waits for any more.
final class ReplyNote: Sendable {
    private let flag = Atomic(false)

    var hasReply: Bool { flag.load(ordering: .acquiring) }

    /// libkrb5 calls it with what came from a KDC, or with why nothing came (`krb5_post_recv_fn`).
    fileprivate static let callback: krb5_post_recv_fn = { _, data, code, _, _, reply, _ in
        if code == 0, reply != nil, let data {
            Unmanaged<ReplyNote>.fromOpaque(data).takeUnretainedValue().flag.store(true, ordering: .releasing)
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
