/// A connection that had served before ended under a request, of whose answer no byte had come. Whether the server saw the request is open.
struct UnansweredRequest: Error {
    let cause: any Error
}
