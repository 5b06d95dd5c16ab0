//! Lines of a child's output, none of which can take more memory than a bound.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Reads lines that end with `\n`, without it.
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
    /// What comes up to the next end of a line belongs to one that was cut.
    skipping: bool,
    most: usize,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole line. The last one may lack its end.
    Whole(Vec<u8>),
    /// The beginning of a line that is longer than the bound, as soon as it is; the rest is skipped.
    Cut(Vec<u8>),
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Lines of at most `most` bytes.
    pub(super) fn new(from: R, most: usize) -> Self {
        Self { from, line: Vec::new(), skipping: false, most }
    }

    /// The next line; `None` at the end. Dropped and asked again it loses nothing: what was taken is in `self`.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.from.fill_buf().await?;
            if read.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then_some(Line::Whole(rest)));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            let taken = end.map_or(part.len(), |end| end + 1);
            let room = self.most - self.line.len();
            let over = part.len() > room;
            if !self.skipping {
                self.line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            }
            self.from.consume(taken);
            let skipped = self.skipping;
            self.skipping = end.is_none() && (skipped || over);
            if !skipped && over {
                return Ok(Some(Line::Cut(std::mem::take(&mut self.line))));
            }
            if !skipped && end.is_some() {
                return Ok(Some(Line::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests;
