/// What a request comes to: the changes to make first, then the reply.
package struct Decision: Sendable {
    package var reply: Reply
    /// In this order; all of them, or none and another reply.
    package var changes: [StoreChange]
    /// How many credentials were compared with what the request looks for.
    package var examined = 0

    init(_ reply: Reply = Reply(), changes: [StoreChange] = []) {
        self.reply = reply
        self.changes = changes
    }

    init(_ code: ReplyCode) { self.init(Reply(code: code)) }
}
