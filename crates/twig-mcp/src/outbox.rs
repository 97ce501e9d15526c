//! The port for replies: whatever a transport writes to.

use std::sync::Arc;

/// A part of a message that many replies share, and its position among the other bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedPart {
    /// How many of the other bytes come before it.
    pub at: usize,
    /// The part.
    pub bytes: Arc<Vec<u8>>,
}

/// Receives the bytes of replies and notifications.
///
/// A message comes in one or more pieces and ends with one [`Outbox::message_end`].
pub trait Outbox {
    /// Receives the next piece of a message.
    fn bytes(&mut self, bytes: &[u8]);

    /// Receives a long message as a whole; a transport that can keep it need not copy it.
    fn whole(&mut self, message: Vec<u8>) {
        self.bytes(&message);
    }

    /// Receives a piece that many replies share; a transport that can keep it need not copy it.
    fn shared(&mut self, page: &Arc<Vec<u8>>) {
        self.bytes(page);
    }

    /// Says that the message that begins is an error with this code, for transports that count them.
    fn refused(&mut self, _code: i32) {}

    /// Says that the message that begins is the result of a tool that failed.
    fn tool_failed(&mut self) {}

    /// Ends a message. stdio writes its newline here.
    fn message_end(&mut self);
}

/// Appends everything, a newline after each message.
impl Outbox for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn message_end(&mut self) {
        self.push(b'\n');
    }
}
