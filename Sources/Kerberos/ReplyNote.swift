internal import CKerberos
internal import Synchronization

/// Whether a KDC has said anything during a call, also one that nobody waits for any more, and of what kind it was.
final class ReplyNote: Sendable {
    private let flag = Atomic(false)
    private let lastTag = Atomic<UInt8>(0)
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

    /// Whether what came last was an initial ticket, readable or not (AS-REP, RFC 4120 section 5.4.2).
    var lastIsTicket: Bool { lastTag.load(ordering: .acquiring) == 0x6b }

    private func note(tag: UInt8) {
        lastTag.store(tag, ordering: .releasing)
        flag.store(true, ordering: .releasing)
        action()
        outer?.note(tag: tag)
    }

    /// libkrb5 calls it with what came from a KDC, or with why nothing came (`krb5_post_recv_fn`).
    fileprivate static let callback: krb5_post_recv_fn = { _, data, code, _, _, reply, _ in
        if code == 0, let reply, let data {
            let tag = reply.pointee.length > 0 ? reply.pointee.data.pointee : 0
            Unmanaged<ReplyNote>.fromOpaque(data).takeUnretainedValue().note(tag: UInt8(bitPattern: tag))
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
