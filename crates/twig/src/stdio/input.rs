//! Splits the client's bytes into lines; a line over the limit is skipped, not kept.

use std::io::{self, ErrorKind};

/// Bytes read from the system at once.
const CHUNK: usize = 64 * 1024;
/// Requests are read ahead up to this many bytes while replies wait to be written.
const READ_AHEAD: usize = 64 * 1024 * 1024;

/// Bytes that were read and not yet handed on.
pub(super) struct LineReader {
    buffer: Vec<u8>,
    /// First byte not handed on.
    start: usize,
    /// There is no line end before this position.
    searched: usize,
    limit: usize,
    /// Inside a line that is too long.
    skipping: bool,
    ended: bool,
}

/// One message, or a mark in place of one that is too long.
pub(super) enum InputLine<'i> {
    Whole(&'i [u8]),
    /// The rest of this line will be skipped.
    TooLong,
}

impl LineReader {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(CHUNK),
            start: 0,
            searched: 0,
            limit,
            skipping: false,
            ended: false,
        }
    }

    /// Whether more may be read.
    pub(super) fn has_room(&self) -> bool {
        self.buffer.len() - self.start < READ_AHEAD.max(self.limit + CHUNK)
    }

    /// Whether a message waits to be handed on.
    pub(super) fn has_line(&self) -> bool {
        let rest = &self.buffer[self.start..];
        memchr::memchr(b'\n', rest).is_some() || (self.ended && !rest.is_empty() && !self.skipping)
    }

    /// The input has ended: the last line need not end with a newline.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Reads the available bytes; 0 at the end.
    pub(super) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.make_room();
        let length = self.buffer.len();
        self.buffer.resize(length + CHUNK, 0);
        let read = read(&mut self.buffer[length..]);
        self.buffer
            .truncate(length + read.as_ref().copied().unwrap_or_default());
        match read {
            // There was nothing to read after all.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(1),
            read => read,
        }
    }

    /// The next message, if it is complete.
    pub(super) fn next_line(&mut self) -> Option<InputLine<'_>> {
        loop {
            let end =
                memchr::memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at);
            let (line, next) = match end {
                Some(end) => (self.start..end, end + 1),
                None if self.ended && self.start < self.buffer.len() => {
                    (self.start..self.buffer.len(), self.buffer.len())
                }
                None => {
                    self.searched = self.buffer.len();
                    return self.outgrown().then_some(InputLine::TooLong);
                }
            };
            (self.start, self.searched) = (next, next);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.limit {
                return Some(InputLine::TooLong);
            }
            return Some(InputLine::Whole(&self.buffer[line]));
        }
    }

    /// Drops an unfinished line that is already too long. Returns whether there was one.
    fn outgrown(&mut self) -> bool {
        let is_over = self.buffer.len() - self.start > self.limit;
        if !self.skipping && !is_over {
            return false;
        }
        let is_news = !self.skipping;
        self.skipping = true;
        self.buffer.clear();
        (self.start, self.searched) = (0, 0);
        is_news
    }

    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            // Do not keep the memory of a burst for ever.
            self.buffer.shrink_to(4 * CHUNK);
        } else if self.start > 0 && self.start >= self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
        } else {
            return;
        }
        self.searched -= self.start;
        self.start = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(input: &mut LineReader, bytes: &[u8]) {
        input.make_room();
        input.buffer.extend_from_slice(bytes);
    }

    fn lines(input: &mut LineReader) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(line) = input.next_line() {
            found.push(match line {
                InputLine::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                InputLine::TooLong => "!".to_owned(),
            });
        }
        found
    }

    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        let mut input = LineReader::new(10);
        feed(&mut input, b"ab\nc");
        assert_eq!(lines(&mut input), ["ab"]);
        feed(&mut input, b"d\n\ne");
        assert_eq!(lines(&mut input), ["cd", ""]);
        input.end();
        assert_eq!(lines(&mut input), ["e"]);
        assert!(!input.has_line());
    }

    #[test]
    fn the_limit_is_the_last_length_that_passes() {
        let mut input = LineReader::new(4);
        feed(&mut input, b"1234\n12345\nok\n");
        assert_eq!(lines(&mut input), ["1234", "!", "ok"]);
    }

    #[test]
    fn a_line_without_end_is_told_once_and_not_held() {
        let mut input = LineReader::new(4);
        let mut told = Vec::new();
        for _ in 0..1000 {
            feed(&mut input, &[b'x'; 100]);
            told.extend(lines(&mut input));
            assert!(input.buffer.len() <= 100);
        }
        feed(&mut input, b"tail\nok\n");
        told.extend(lines(&mut input));
        assert_eq!(told, ["!", "ok"]);
    }
}
